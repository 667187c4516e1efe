// SPDX-License-Identifier: GPL-2.0-or-later
//! slurmdbd with a database of its own, for what only accounting brings: associations and QOS.

use super::{Cluster, LIMIT, Outcome, places};
use std::fs;
use std::path::{Path, PathBuf};

/// The database's socket, the only way to it.
pub(super) fn socket(folder: &Path) -> PathBuf {
    folder.join("database.socket")
}

pub(super) fn slurm_conf_lines(port: u16) -> String {
    format!(
        "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\nAccountingStoragePort={port}\n\
         AccountingStorageEnforce=qos\n"
    )
}

pub(super) fn slurmdbd_conf(folder: &Path, port: u16) -> Outcome<String> {
    let at = folder.display();
    let stock = places::stock_plugins()?;
    Ok(format!(
        "AuthType=auth/munge\nAuthInfo=socket={at}/munge.socket\nDbdHost=localhost\nDbdPort={port}\nSlurmUser=root\n\
         PluginDir={plugins}\nLogFile={at}/slurmdbd.log\nPidFile={at}/slurmdbd.pid\n\
         StorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=root\nStorageLoc=surgent\n",
        plugins = stock.display()
    ))
}

impl Cluster {
    /// Starts database and slurmdbd, and tells sacctmgr what is in `setup`.
    pub(super) fn start_accounting(&mut self, setup: &[String]) -> Outcome {
        let (data, socket) = (self.folder().join("database"), socket(self.folder()));
        fs::create_dir(&data).map_err(|error| format!("{}: {error}", data.display()))?;
        // Without accounts of its own: the folder is root's, and nothing listens on a port.
        let options = [
            "--no-defaults".to_owned(),
            "--user=root".to_owned(),
            "--skip-networking".to_owned(),
            "--skip-grant-tables".to_owned(),
            "--innodb-flush-log-at-trx-commit=0".to_owned(),
            "--innodb-log-file-size=16M".to_owned(),
            format!("--datadir={}", data.display()),
            format!("--socket={}", socket.display()),
            format!("--pid-file={}/database.pid", self.folder().display()),
        ];
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let database = self.daemon("mariadbd", &options)?;
        self.daemons.push(database);
        self.wait_for("the database's socket", LIMIT, |_| Ok(socket.exists()))?;
        let slurmdbd = self.daemon("slurmdbd", &["-D"])?;
        self.daemons.push(slurmdbd);
        self.wait_for("slurmdbd to answer", LIMIT, |cluster| {
            Ok(cluster.ask("sacctmgr", &["-n", "list", "qos"]).is_ok())
        })?;
        for words in ["add cluster surgent"]
            .into_iter()
            .chain(setup.iter().map(String::as_str))
        {
            let words: Vec<_> = ["-i"].into_iter().chain(words.split(' ')).collect();
            self.ask("sacctmgr", &words)?;
        }
        Ok(())
    }
}
