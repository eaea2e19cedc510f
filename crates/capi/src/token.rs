//! Host functions that answer later, by tokens.

use std::ffi::{c_char, c_void};
use std::mem::{replace, take};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use riverrun::raw::RawMachine;
use riverrun::{AsyncCaller, HostFuture, Scalar, Signature};

use crate::arguments::{Result, array, given, misuse, text};
use crate::error::{Error, ErrorKind, Raised, Returned, delete, guard, guard_value};
use crate::host::{parameters_of, results_of};
use crate::host_data::Host;
use crate::linker::Linker;
use crate::machine::Machine;
use crate::owned::{Destructor, Owned};
use crate::program::signature;
use crate::value::{Value, counted};

/// A guest's call of a host function that is answered later: by `riverrun_token_complete` or `riverrun_token_fail`, once,
/// from any thread, also when the call was given up or its machine is gone; then the answer has no effect. If the token is
/// deleted without an answer, the call fails.
#[derive(Debug)]
pub struct Token(Arc<Wait>);

/// A host function that answers later. It owns `token` from now on, whatever it returns, and may answer at once. `caller` is
/// the machine whose guest has called. It returns NULL, or an error, which ends the guest's run.
///
/// It runs within `riverrun_future_poll`. There, and until it has answered, functions of the guest may be called, and its
/// memory and heap be used, by the thread that uses the machine. The function must not unwind or `longjmp` out of the call.
pub type HostFuncAsync = unsafe extern "C" fn(
    data: *mut c_void,
    caller: Machine,
    arguments: *const Value,
    arguments_len: usize,
    token: Box<Token>,
) -> Option<Box<Error>>;

/// A call that waits for its answer.
#[derive(Debug)]
struct Wait {
    answer: Mutex<Answer>,
    results: Box<[Scalar]>,
}

#[derive(Debug)]
enum Answer {
    /// Whom to wake once it comes.
    Awaited(Option<Waker>),
    Given(Option<std::result::Result<[u64; 2], Box<Error>>>),
    /// The future that has waited for it was dropped.
    NotWanted,
}

impl Wait {
    fn answer(&self) -> MutexGuard<'_, Answer> {
        // No operation on an answer panics between two changes of it.
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the answer, if there was none.
    fn give(&self, given: std::result::Result<[u64; 2], Box<Error>>) -> Result<()> {
        let mut answer = self.answer();
        let waker = match &mut *answer {
            Answer::Awaited(waker) => take(waker),
            Answer::Given(_) => return Err(misuse("the token has been completed before")),
            // It is given, so that a second one is an error whether the first one was wanted or not.
            Answer::NotWanted => None,
        };
        let is_wanted = !matches!(*answer, Answer::NotWanted);
        let before = replace(&mut *answer, Answer::Given(is_wanted.then_some(given)));
        drop(answer);
        drop(before);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if matches!(*self.0.answer(), Answer::Awaited(_)) {
            let _ = self.0.give(Err(Error::new(ErrorKind::Host, "its token was deleted before it was completed")));
        }
    }
}

/// What the guest's run waits for; when it is dropped, the answer is not wanted any more.
struct Awaiting(Arc<Wait>);

impl Future for Awaiting {
    type Output = std::result::Result<[u64; 2], riverrun::HostError>;

    fn poll(self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        match &mut *self.0.answer() {
            Answer::Awaited(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    none => *none = Some(context.waker().clone()),
                }
                Poll::Pending
            }
            Answer::Given(given) => {
                let given = given.take().expect("it is asked for once");
                Poll::Ready(given.map_err(|error| Raised(error).into()))
            }
            Answer::NotWanted => unreachable!("it is wanted"),
        }
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        let mut answer = self.0.answer();
        if let Answer::Awaited(_) = *answer {
            let before = replace(&mut *answer, Answer::NotWanted);
            drop(answer);
            // A waker's destructor is the host's.
            drop(before);
        }
    }
}

/// An async function with its data.
struct Async {
    owned: Owned,
    function: HostFuncAsync,
    parameters: Vec<Scalar>,
    results: Box<[Scalar]>,
}

impl Async {
    fn new(owned: Owned, function: HostFuncAsync, signature: &Signature) -> Result<Async> {
        let (parameters, results) = (parameters_of(signature)?, results_of(signature).into());
        Ok(Async { owned, function, parameters, results })
    }

    fn call<'a>(&self, mut caller: AsyncCaller<'a, Host>, slots: &[u64]) -> HostFuture<'a, [u64; 2]> {
        let machine = Machine(RawMachine::of_caller(&mut caller));
        let arguments: Vec<Value> =
            self.parameters.iter().zip(slots).map(|(&scalar, &slot)| Value::from_slot(scalar, slot)).collect();
        let wait = Arc::new(Wait { answer: Mutex::new(Answer::Awaited(None)), results: self.results.clone() });
        let awaiting = Awaiting(wait.clone());
        // SAFETY: what the host has registered; there are as many arguments as is said. The caller stands for its machine,
        // and is not used otherwise.
        let failed = unsafe {
            (self.function)(self.owned.data, machine, arguments.as_ptr(), arguments.len(), Box::new(Token(wait)))
        };
        match failed {
            Some(error) => Box::pin(std::future::ready(Err(Raised(error).into()))),
            None => Box::pin(async move {
                let _caller = caller;
                awaiting.await
            }),
        }
    }
}

/// Adds a host function that answers later. Only guests that are run by `riverrun_machine_run_async` or
/// `riverrun_func_call_async` can wait for it; in other runs, and in calls that a host function makes, it fails. Otherwise
/// as `riverrun_linker_func`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_func_async(
    linker: Option<&mut Linker>,
    name: *const c_char,
    types: *const c_char,
    function: Option<HostFuncAsync>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let (linker, function) = (given(linker, "linker")?, given(function, "function")?);
        let (name, types) = (text(name, "name")?, signature(text(types, "types")?)?);
        let function = Async::new(owned, function, &types)?;
        linker.linker.dyn_func_async(name, &types, move |caller, slots| function.call(caller, slots))?;
        Ok(())
    })
}

// SAFETY: the header demands of host functions that threads of machines may call them.
unsafe impl Send for Async {}
// SAFETY: likewise.
unsafe impl Sync for Async {}

/// Answers the guest's call with the function's results: none, one or two. The run's waker is called, if it has one
/// (`riverrun_future_set_waker`); its next `riverrun_future_poll` continues the guest. A second answer is an error, and
/// has no effect; so are results of other types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_token_complete(
    token: Option<&Token>,
    results: *const Value,
    results_len: usize,
) -> Returned {
    guard(|| {
        let token = given(token, "token")?;
        let results = array(results, results_len, "results")?;
        counted("results", results.len(), token.0.results.len())?;
        let mut slots = [0; 2];
        for (index, (value, &scalar)) in results.iter().zip(&token.0.results).enumerate() {
            slots[index] = value.raw(scalar, "result", index)?;
        }
        token.0.give(Ok(slots))
    })
}

/// Answers the guest's call with an error, which ends its run. The error is the token's from now on. A second answer is an
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_token_fail(token: Option<&Token>, error: Option<Box<Error>>) -> Returned {
    guard(|| {
        let token = given(token, "token")?;
        token.0.give(Err(error.unwrap_or_else(|| Error::new(ErrorKind::Host, "the host gave no reason"))))
    })
}

/// Whether a guest still waits for the answer: there was none yet, and neither was the call given up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_token_is_awaited(token: Option<&Token>) -> bool {
    guard_value(false, || Some(matches!(*token?.0.answer(), Answer::Awaited(_))))
}

/// Frees the token. If it was not answered, the guest's call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_token_delete(token: Option<Box<Token>>) {
    delete(token);
}
