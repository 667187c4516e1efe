// SPDX-License-Identifier: GPL-2.0-or-later
//! slurmdbd with a database of its own, for what only accounting brings: associations and QOS.

use super::{Cluster, LIMIT, Outcome, places};
use std::fs;
use std::path::{Path, PathBuf};

/// The database's socket, the only way to it.
pub(super) fn socket(folder: &Path) -> PathBuf {
    folder.join("database.socket")
}

pub(super) fn slurm_conf_lines(folder: &Path, port: u16) -> String {
    // To slurmdbd Slurm goes by munge's default socket unless the password names another.
    format!(
        "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\nAccountingStoragePort={port}\n\
         AccountingStoragePass={}/munge.socket\nAccountingStorageEnforce=qos\n",
        folder.display()
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

/// What makes the database's own tables; slurmdbd has procedures of its own kept in one of them.
fn system_tables() -> Outcome<String> {
    let found = ["/usr/share/mysql", "/usr/share/mariadb"]
        .iter()
        .find_map(|folder| fs::read_to_string(Path::new(folder).join("mysql_system_tables.sql")).ok())
        .ok_or("mysql_system_tables.sql of mariadb-server-core is not there")?;
    Ok(format!("create database mysql;\nuse mysql;\n{found}"))
}

impl Cluster {
    /// Starts database and slurmdbd, and tells sacctmgr what is in `setup`.
    pub(super) fn start_accounting(&mut self, setup: &[String]) -> Outcome {
        let (data, socket) = (self.folder().join("database"), socket(self.folder()));
        fs::create_dir(&data).map_err(|error| format!("{}: {error}", data.display()))?;
        let common = [
            "--no-defaults".to_owned(),
            "--user=root".to_owned(),
            "--innodb-log-file-size=16M".to_owned(),
            format!("--datadir={}", data.display()),
        ];
        self.make_system_tables(&common)?;
        // Without users of its own: the folder is root's, and nothing listens on a port.
        let options = [
            "--skip-networking".to_owned(),
            "--skip-grant-tables".to_owned(),
            "--innodb-flush-log-at-trx-commit=0".to_owned(),
            format!("--socket={}", socket.display()),
            format!("--pid-file={}/database.pid", self.folder().display()),
        ];
        let options: Vec<_> = common.iter().chain(&options).map(String::as_str).collect();
        let database = self.daemon("mariadbd", &options)?;
        self.daemons.push(database);
        self.wait_for("the database's socket", LIMIT, |_| Ok(socket.exists()))?;
        let slurmdbd = self.daemon("slurmdbd", &["-D"])?;
        self.daemons.push(slurmdbd);
        self.wait_for("slurmdbd to answer", LIMIT, |cluster| {
            Ok(cluster.ask("sacctmgr", &["-n", "list", "qos"]).is_ok())
        })?;
        let setup = setup.iter().map(String::as_str);
        for words in ["add cluster surgent"].into_iter().chain(setup) {
            let words: Vec<_> = ["-i"].into_iter().chain(words.split(' ')).collect();
            self.ask("sacctmgr", &words)?;
        }
        Ok(())
    }

    fn make_system_tables(&self, options: &[String]) -> Outcome {
        let script = self.folder().join("system-tables.sql");
        fs::write(&script, system_tables()?).map_err(|error| format!("{}: {error}", script.display()))?;
        let input = fs::File::open(&script).map_err(|error| format!("{}: {error}", script.display()))?;
        let output = self
            .prepared(&places::daemon("mariadbd")?)
            .args(options)
            .arg("--bootstrap")
            .stdin(input)
            .output()
            .map_err(|error| format!("mariadbd: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }
}
