// SPDX-License-Identifier: GPL-2.0-or-later
//! Shims and cores that were not built with one `surgent.h`.

use super::*;

#[test]
fn a_shim_of_another_contract_is_told_so_and_refused() {
    let stranger = surgent_host_t {
        abi: SURGENT_ABI + 1,
        ..host()
    };
    // SAFETY: a whole struct whose functions stay.
    assert_eq!(unsafe { surgent_attach(&stranger) }, 1);
    assert!(
        LOG.lock()
            .unwrap()
            .iter()
            .any(|line| line.contains(&format!("contract {} cannot use this core", SURGENT_ABI + 1)))
    );
}

/// A shim of an older contract, whose `surgent_host_t` is shorter, is not taken for one that is none: its log is told.
#[test]
fn a_shorter_shim_is_told_of_its_contract_too() {
    for (abi, bytes) in [(SURGENT_ABI - 1, 40), (SURGENT_ABI - 2, 56)] {
        let old = surgent_host_t {
            size: bytes,
            abi,
            ..host()
        };
        // SAFETY: a whole struct whose functions stay.
        assert_eq!(unsafe { surgent_attach(&old) }, 1);
        let sentence = format!("a shim for contract {abi} cannot use this core");
        assert!(
            LOG.lock().unwrap().iter().any(|line| line.contains(&sentence)),
            "{sentence}"
        );
    }
    let short = surgent_host_t {
        size: size::<surgent_host_t>() - 1,
        ..host()
    };
    // SAFETY: as above.
    assert_eq!(unsafe { surgent_attach(&short) }, 1);
    assert!(
        LOG.lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("another surgent.h"))
    );
}

/// The sizes that cc gives the structs of `surgent.h` are the ones that bindgen gives them.
#[test]
fn c_and_rust_see_one_layout() {
    macro_rules! check {
        ($($function:ident => $view:ty: $bytes:literal),* $(,)?) => {
            unsafe extern "C" { $(fn $function() -> usize;)* }
            // SAFETY: functions of src/shim/layout.c that return a constant.
            $(assert_eq!(unsafe { $function() }, size_of::<$view>(), stringify!($view));)*
            // The other side takes a view that is shorter than its own for none, and lets everything pass.
            $(assert_eq!(
                size_of::<$view>(),
                $bytes,
                "{} of contract 6: if it is to be another, raise SURGENT_ABI, here too",
                stringify!($view)
            );)*
        };
    }
    assert_eq!(SURGENT_ABI, 6);
    check! {
        surgent_layout_gres => surgent_gres_t: 24,
        surgent_layout_node_view => surgent_node_view_t: 56,
        surgent_layout_holding => surgent_holding_t: 32,
        surgent_layout_gres_request => surgent_gres_request_t: 64,
        surgent_layout_choice => surgent_choice_t: 40,
        surgent_layout_job_view => surgent_job_view_t: 288,
        surgent_layout_sink => surgent_sink_t: 96,
        surgent_layout_host => surgent_host_t: 80,
        surgent_layout_answer => surgent_answer_t: 56,
        surgent_layout_ask_view => surgent_ask_view_t: 112,
        surgent_layout_request_view => surgent_request_view_t: 56,
        surgent_layout_subject_view => surgent_subject_view_t: 40,
        surgent_layout_pair_view => surgent_pair_view_t: 48,
        surgent_layout_queue_view => surgent_queue_view_t: 48,
    }
}
