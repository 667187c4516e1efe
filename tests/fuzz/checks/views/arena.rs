// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps alive what views point to.

use arbitrary::{Arbitrary, Result, Unstructured};
use std::any::Any;
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use surgent::host::abi::*;
use surgent::policy::record::Record;

/// Texts that get further than noise does.
const WORDS: [&str; 12] = [
    "urgent",
    "urgency=urgent",
    "{\"urgency\":\"urgent\"}",
    "epochs=90 epoch=12/90 signal=USR1@batch save=epoch",
    "surgent{class=urgent first=1 ask=3}",
    "surgent{class=normal ask=17 asked=5 deadline=9 saved=yes}",
    "gres:gpu:a100:2,gres/nic=1",
    "1-10%2,0-4294967295:3",
    "gpu",
    "a100*2&[r1|r2]",
    "normal",
    "0",
];

/// What lives until a call is over.
#[derive(Default)]
pub struct Arena(Vec<Box<dyn Any>>);

impl Arena {
    /// NULL, one of the known texts, or noise; without NUL bytes, as a C string cannot have any within.
    pub fn text(&mut self, from: &mut Unstructured<'_>) -> Result<*const c_char> {
        let mut bytes = match from.int_in_range(0..=3)? {
            0 => return Ok(ptr::null()),
            1 => from.choose(&WORDS)?.as_bytes().to_vec(),
            2 => [from.choose(&WORDS)?.as_bytes(), b" ", <&[u8]>::arbitrary(from)?].concat(),
            _ => Vec::arbitrary(from)?,
        };
        bytes.retain(|byte| *byte != 0);
        let text = CString::new(bytes).expect("without NUL");
        let first = text.as_ptr();
        self.0.push(Box::new(text));
        Ok(first)
    }

    /// A view that lives as long as this, or NULL now and then.
    pub fn or_null<View: 'static>(&mut self, from: &mut Unstructured<'_>, view: View) -> Result<*const View> {
        if from.ratio(1, 16)? {
            return Ok(ptr::null());
        }
        Ok(self.keep(view))
    }

    fn keep<T: 'static>(&mut self, value: T) -> *const T {
        let boxed = Box::new(value);
        let place = ptr::from_ref(&*boxed);
        self.0.push(boxed);
        place
    }

    /// A few entries, and how many there are; NULL now and then, and then the number is any.
    pub fn entries<T: 'static>(
        &mut self,
        from: &mut Unstructured<'_>,
        mut one: impl FnMut(&mut Unstructured<'_>, &mut Self) -> Result<T>,
    ) -> Result<(*const T, u32)> {
        if from.ratio(1, 8)? {
            return Ok((ptr::null(), from.arbitrary()?));
        }
        let count = from.int_in_range(0..=3)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            entries.push(one(from, self)?);
        }
        let first = entries.as_ptr();
        self.0.push(Box::new(entries));
        Ok((first, count))
    }

    pub fn gres(&mut self, from: &mut Unstructured<'_>) -> Result<(*const surgent_gres_t, u32)> {
        self.entries(from, |from, arena| {
            Ok(surgent_gres_t {
                name: arena.text(from)?,
                type_: arena.text(from)?,
                count: from.arbitrary()?,
            })
        })
    }

    /// NULL, or what a job asks for.
    pub fn ask(&mut self, from: &mut Unstructured<'_>) -> Result<*const surgent_ask_view_t> {
        let ask = surgent_ask_view_t {
            size: size_of_view::<surgent_ask_view_t>(from)?,
            group_id: from.arbitrary()?,
            min_nodes: from.arbitrary()?,
            tasks: from.arbitrary()?,
            tasks_per_node: from.arbitrary()?,
            cpus_per_task: from.arbitrary()?,
            min_cpus: from.arbitrary()?,
            time_limit_min: from.arbitrary()?,
            array_waiting: from.arbitrary()?,
            array_at_once: from.arbitrary()?,
            array: self.text(from)?,
            account: self.text(from)?,
            qos: self.text(from)?,
            partition: self.text(from)?,
            default_partition: self.text(from)?,
            tres_per_node: self.text(from)?,
            tres_per_job: self.text(from)?,
            tres_per_socket: self.text(from)?,
            tres_per_task: self.text(from)?,
        };
        self.or_null(from, ask)
    }
}

/// What a view says of its size: mostly the truth, or that it is shorter than it is.
pub fn size_of_view<View>(from: &mut Unstructured<'_>) -> Result<u32> {
    let size = u32::try_from(size_of::<View>()).expect("small");
    Ok(if from.ratio(1, 16)? {
        from.int_in_range(0..=size)?
    } else {
        size
    })
}

/// Whether this is the AdminComment of an urgent job.
pub fn starts_urgent(text: *const c_char) -> bool {
    // SAFETY: NULL, or a text of an arena that is still there.
    !text.is_null() && Record::is_urgent_fast(unsafe { CStr::from_ptr(text) }.to_bytes())
}
