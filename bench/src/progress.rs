//! What is being done, and for how long: on a terminal one line that is rewritten every second, elsewhere a line
//! now and then.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Says on standard error what is being done, as long as it exists.
pub(crate) struct Progress {
    doing: Arc<Mutex<Option<Doing>>>,
    is_terminal: bool,
}

struct Doing {
    what: String,
    since: Instant,
}

/// How often it is said where there is no terminal: quick steps leave no line.
const PERIOD: Duration = Duration::from_secs(10);

impl Progress {
    pub(crate) fn new() -> Progress {
        let doing = Arc::new(Mutex::new(None));
        let is_terminal = std::io::stderr().is_terminal();
        let (period, weak) = (if is_terminal { Duration::from_secs(1) } else { PERIOD }, Arc::downgrade(&doing));
        std::thread::spawn(move || tell(&weak, is_terminal, period));
        Progress { doing, is_terminal }
    }

    /// Something new is being done.
    pub(crate) fn show(&mut self, what: &str) {
        let doing = Doing { what: what.to_owned(), since: Instant::now() };
        if self.is_terminal {
            say(&doing.line(true));
        }
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = Some(doing);
    }

    /// Nothing is being done: the line belongs to others.
    pub(crate) fn clear(&mut self) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.is_terminal {
            say("\r\x1b[K");
        }
    }
}

impl Doing {
    fn line(&self, is_terminal: bool) -> String {
        let Doing { what, since } = self;
        let seconds = since.elapsed().as_secs();
        let text = if seconds == 0 { what.clone() } else { format!("{what}, for {seconds} s") };
        if is_terminal { format!("\r\x1b[K{text}") } else { format!("bench: {text}\n") }
    }
}

/// Prints what is being done, again and again, until the work has ended.
fn tell(doing: &Weak<Mutex<Option<Doing>>>, is_terminal: bool, period: Duration) {
    loop {
        std::thread::sleep(period);
        let Some(doing) = doing.upgrade() else { return };
        let doing = doing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(doing) = &*doing {
            say(&doing.line(is_terminal));
        }
    }
}

fn say(text: &str) {
    // If standard error has no reader, nothing can be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
