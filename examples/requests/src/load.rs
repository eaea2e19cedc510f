//! Load: `wrk` sends requests as fast as they are answered, to the server alone, to C++ in the server, and to C++ in
//! machines. Candidates take turns, so that what slows the host down slows down all.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::{Handler, Native, Plugin, serve};

/// The text of every request.
const TEXT: &str = include_str!("../README.md");
const PATH: &str = "/words";

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Rounds; the table has their medians.
    pub rounds: usize,
    /// Of each candidate in each round.
    pub time: Duration,
    /// Connections that send requests at once.
    pub connections: u32,
}

/// What `wrk` reports.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

struct Candidate {
    name: &'static str,
    handler: Arc<Handler>,
    address: SocketAddr,
    rounds: Vec<Figures>,
    /// The handler alone, of one request.
    alone: Vec<Duration>,
}

/// The table, of these plugins by their names.
///
/// # Errors
/// If there is no `wrk`, or a candidate answers wrong.
pub fn measure(
    runtime: &Runtime,
    plugins: &[(&'static str, Plugin)],
    amount: Amount,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let expected = Native.handle(PATH, TEXT.as_bytes());
    let mut handlers =
        vec![("server alone", Handler::Constant(expected.clone())), ("C++ in the server", Handler::Native(Native))];
    handlers.extend(plugins.iter().map(|(name, plugin)| (*name, Handler::Plugin(plugin.clone()))));
    let mut candidates = Vec::new();
    for (name, handler) in handlers {
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let (address, handler) = (listener.local_addr()?, Arc::new(handler));
        runtime.spawn(serve(listener, handler.clone()));
        candidates.push(Candidate { name, handler, address, rounds: Vec::new(), alone: Vec::new() });
    }
    for _ in 0..amount.rounds {
        for candidate in &mut candidates {
            if candidate.handler.handle(PATH, TEXT.as_bytes())? != expected {
                return Err(format!("{} answers another page than native code does", candidate.name).into());
            }
            candidate.alone.push(alone(&candidate.handler)?);
            candidate.rounds.push(wrk(candidate.address, amount)?);
        }
    }
    Ok(table(&candidates, amount))
}

/// How long the handler takes for a request, without the server: the best of some.
fn alone(handler: &Handler) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    let mut best = Duration::MAX;
    for _ in 0..200 {
        let begin = Instant::now();
        std::hint::black_box(handler.handle(PATH, TEXT.as_bytes())?);
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

fn wrk(address: SocketAddr, amount: Amount) -> Result<Figures, Box<dyn Error + Send + Sync>> {
    let folder = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new("wrk");
    command.args(["--latency", "-t1", "-c", &amount.connections.to_string()]);
    command.args(["-d", &format!("{}s", amount.time.as_secs().max(1)), "-s", &format!("{folder}/load.lua")]);
    command.arg(format!("http://{address}{PATH}")).env("RIVERRUN_REQUESTS_BODY", format!("{folder}/README.md"));
    let output = command.output().map_err(|error| format!("wrk: {error}; install it (Debian: apt-get install wrk)"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("wrk: {text}{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    parse(&text).map_err(|problem| format!("wrk: {problem}:\n{text}").into())
}

/// Reads what `wrk --latency` prints.
fn parse(text: &str) -> Result<Figures, &'static str> {
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err("some requests failed");
    }
    let fields: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect();
    let latency = |name| fields.get(name).and_then(|text| time(text)).ok_or("no latency");
    let per_second = fields.get("Requests/sec:").and_then(|text| text.parse().ok()).ok_or("no rate")?;
    Ok(Figures { per_second, p50: latency("50%")?, p99: latency("99%")? })
}

/// A time such as `640.00us` or `1.27ms`.
fn time(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let scale = match &text[unit..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(text[..unit].parse::<f64>().ok()? * scale).ok()
}

fn table(candidates: &[Candidate], amount: Amount) -> String {
    let native = candidates.iter().find(|c| matches!(*c.handler, Handler::Native(_))).map_or(f64::NAN, Candidate::rate);
    let mut text = format!(
        "{} connections, a body of {} bytes, medians of {} rounds of {:?}\n\n",
        amount.connections,
        TEXT.len(),
        amount.rounds,
        amount.time
    );
    text += "| answered by                     | requests/s | of native |  p50 ms |  p99 ms | handler alone, us |\n";
    text += "| ------------------------------- | ---------: | --------: | ------: | ------: | ----------------: |\n";
    for c in candidates {
        let [p50, p99] =
            [|f: &Figures| f.p50, |f: &Figures| f.p99].map(|of| milliseconds(median(c.rounds.iter().map(of))));
        let alone = milliseconds(median(c.alone.iter().copied())) * 1e3;
        let (rate, share) = (c.rate(), c.rate() / native);
        let _ = writeln!(
            text,
            "| {:<31} | {rate:>10.0} | {share:>9.2} | {p50:>7.2} | {p99:>7.2} | {alone:>17.1} |",
            c.name
        );
    }
    text
}

impl Candidate {
    fn rate(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.per_second))
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("name", &self.name).field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The upper one of the two in the middle, where there are two.
fn median<T: PartialOrd>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let middle = values.len() / 2;
    values.swap_remove(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Running 1s test @ http://127.0.0.1:8080/words
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   340.79us  173.25us   5.18ms   91.05%
    Req/Sec    47.55k     3.85k   52.44k    63.64%
  Latency Distribution
     50%  325.00us
     75%  400.00us
     90%  455.00us
     99%    1.27ms
  52006 requests in 1.10s, 9.17MB read
Requests/sec:  47290.25
Transfer/sec:      8.34MB
";

    #[test]
    fn reports_are_read() {
        let (p50, p99) = (Duration::from_micros(325), Duration::from_micros(1270));
        assert_eq!(parse(REPORT), Ok(Figures { per_second: 47290.25, p50, p99 }));
        assert!(parse(&REPORT.replace("99%", "98%")).is_err());
        assert!(parse(&format!("{REPORT}  Non-2xx or 3xx responses: 3\n")).is_err());
    }

    #[test]
    fn times_have_units() {
        for (text, nanoseconds) in [("640.00us", 640_000), ("1.27ms", 1_270_000), ("2.00s", 2_000_000_000)] {
            assert_eq!(time(text), Some(Duration::from_nanos(nanoseconds)));
        }
        assert!(["12", "1.00m", "us", "1.2.3ms"].iter().all(|text| time(text).is_none()));
    }
}
