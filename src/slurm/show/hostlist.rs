// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of nodes, as Slurm abbreviates them: `n[1-3,07],login`.

/// No list stands for more names.
const NAMES_MAX: usize = 1 << 17;

/// No number in brackets has more digits: it must be one that can be counted.
const DIGITS_MAX: usize = 18;

/// The names that `list` stands for, in its order; what is no list of names gives none, or as many as could be read.
pub fn expand(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    for one in parts(list) {
        if !one.contains('[') {
            if !one.is_empty() {
                names.push(one.to_owned());
            }
        } else {
            names.extend(expand_one(one, NAMES_MAX.saturating_sub(names.len())));
        }
        if names.len() >= NAMES_MAX {
            break;
        }
    }
    names
}

/// Splits at the commas that are not in brackets.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0u32;
    list.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// The names of one `r[1-2]n[1-4]`.
fn expand_one(one: &str, max: usize) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut rest = one;
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((ranges, behind)) = behind.split_once(']') else {
            return Vec::new();
        };
        let numbers = numbers(ranges, max);
        if names.len().saturating_mul(numbers.len()) > max {
            return Vec::new();
        }
        let with_all = |name: &String| -> Vec<String> {
            let each = numbers.iter().map(|number| format!("{name}{before}{number}"));
            each.collect()
        };
        names = names.iter().flat_map(with_all).collect();
        rest = behind;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    names
}

/// The numbers of `1-3,07`, with their leading zeros.
fn numbers(ranges: &str, max: usize) -> Vec<String> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let parse = |text: &str| text.parse::<u64>().ok().filter(|_| text.len() <= DIGITS_MAX);
        let (Some(from), Some(to)) = (parse(first), parse(last)) else {
            continue;
        };
        let room = (max - numbers.len().min(max)) as u64;
        let to = to.min(from.saturating_add(room));
        numbers.extend((from..=to).map(|number| format!("{number:0width$}", width = first.len())));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_out() {
        assert_eq!(expand("n1"), ["n1"]);
        assert_eq!(expand("n[1-3,07],login"), ["n1", "n2", "n3", "n07", "login"]);
        assert_eq!(expand("n[08-11]"), ["n08", "n09", "n10", "n11"]);
        assert_eq!(expand("r[1-2]n[3-4]x"), ["r1n3x", "r1n4x", "r2n3x", "r2n4x"]);
        assert_eq!(expand(""), [""; 0]);
    }

    #[test]
    fn rubbish_gives_few_names_and_no_panic() {
        for list in [
            "[",
            "]",
            "n[",
            "n[]",
            "n[1-",
            "n[a-b]",
            "n[3-1]",
            ",,",
            "n[1-2]]x[",
            "é[1]",
        ] {
            assert!(expand(list).len() <= 2, "{list}");
        }
        assert!(expand("n[0-99999999999999999]").len() <= NAMES_MAX + 1);
        assert!(expand("n[0-9999]m[0-9999]k[0-9999]").is_empty());
    }
}
