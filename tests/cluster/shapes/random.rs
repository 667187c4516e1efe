// SPDX-License-Identifier: GPL-2.0-or-later
//! Shapes put together at random, so that what nobody thought of is met, too.

/// A row of numbers that is the same for the same seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound` (splitmix64).
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as usize % bound
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick(&mut self, options: &[&str]) -> String {
        options[self.below(options.len())].to_owned()
    }
}

/// Options of sbatch; Slurm does not take all of them.
pub fn options(dice: &mut Dice) -> Vec<String> {
    let mut options = Vec::new();
    if dice.one_in(2) {
        options.push(dice.pick(&["-N1", "-N2", "-N3", "-N1-2", "-N2-4"]));
    }
    options.push(dice.pick(&["-n1", "-n2", "-n3", "-n4", "-n7", "-n12"]));
    if dice.one_in(3) {
        options.push(dice.pick(&["-c2", "-c3", "-c5"]));
    }
    if dice.one_in(4) {
        options.push(dice.pick(&[
            "--ntasks-per-node=1",
            "--ntasks-per-node=2",
            "--ntasks-per-node=4",
        ]));
    }
    if dice.one_in(6) {
        options.push("--exclusive".to_owned());
    }
    match dice.below(6) {
        0 => {}
        1 | 2 => options.push(dice.pick(&["--gres=gpu:1", "--gres=gpu:2", "--gres=gpu:3", "--gres=gpu:4"])),
        3 => options.push(dice.pick(&["--gpus=1", "--gpus=3", "--gpus=5", "--gpus=7"])),
        4 => options.push(dice.pick(&["--gpus-per-task=1", "--gpus-per-task=2"])),
        _ => {
            options.push(dice.pick(&["--gpus=2", "--gpus=4", "--gres=gpu:2"]));
            // With more tasks than these CPUs are for, a job contradicts itself.
            options.retain(|option| !option.starts_with("-n"));
            options.push(dice.pick(&["--cpus-per-gpu=1", "--cpus-per-gpu=2", "--cpus-per-gpu=3"]));
        }
    }
    // With gpus for each of so many tasks on a node, Slurm 22.05 itself counts on nodes that it then cannot use.
    let for_each_task = options.iter().any(|option| option.starts_with("--gpus-per-task"));
    if !for_each_task && dice.one_in(8) {
        options.push("--overcommit".to_owned());
    }
    match dice.below(5) {
        0 => options.push(dice.pick(&["--mem=2000", "--mem=7000", "--mem=14000", "--mem=0"])),
        1 => options.push(dice.pick(&["--mem-per-cpu=500", "--mem-per-cpu=1700", "--mem-per-cpu=4500"])),
        _ => {}
    }
    if dice.one_in(3) {
        options.push(dice.pick(&[
            "-Cnew",
            "-Cib",
            "-Cold|new",
            "-C[old|new]",
            "-Cib*1",
            "-C[old*1&new*1]",
        ]));
    }
    if dice.one_in(4) {
        options.push(dice.pick(&["-xn1", "-xn4", "-xn2,n3", "-wn2", "-wn3,n4"]));
    }
    if dice.one_in(5) {
        options.push(dice.pick(&["-pwest", "-peast", "-peast,west"]));
    }
    options
}
