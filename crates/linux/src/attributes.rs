//! Extended attributes of files: there are none, as in file systems that keep none.

use rustix::io::Errno;

use crate::call::{Call, Outcome};
use crate::status::check_there;

fn absent(there: Outcome) -> Outcome {
    there?;
    Err(Errno::OPNOTSUPP.into())
}

pub(crate) fn of_path(call: &mut Call<'_>) -> Outcome {
    absent(check_there(call, true))
}

pub(crate) fn of_link(call: &mut Call<'_>) -> Outcome {
    absent(check_there(call, false))
}

pub(crate) fn of_file(call: &mut Call<'_>) -> Outcome {
    absent(call.file(0).map(|_| 0))
}

/// The names of a path's attributes: none.
pub(crate) fn list_of_path(call: &mut Call<'_>) -> Outcome {
    check_there(call, true)
}

pub(crate) fn list_of_link(call: &mut Call<'_>) -> Outcome {
    check_there(call, false)
}

pub(crate) fn list_of_file(call: &mut Call<'_>) -> Outcome {
    call.file(0).map(|_| 0)
}
