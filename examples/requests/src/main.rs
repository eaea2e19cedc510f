//! The command: the server, or what it does under load.

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use lexopt::prelude::*;
use riverrun_requests::load::{self, Amount};
use riverrun_requests::{Handler, Limits, Plugin, serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

#[path = "../../output.rs"]
mod output;

const HELP: &str = "\
riverrun-requests [OPTIONS]    an HTTP server whose plugin gets a new machine for each request

  curl --data-binary @README.md http://127.0.0.1:8080/words    the most frequent words of a text
  curl http://127.0.0.1:8080/loop                              what a faulty plugin does: also /null /deep /throw

  --listen ADDRESS   127.0.0.1:8080 if not given
  --compile          compile the plugin ahead of time (needs a build with --features compile)
  --load             measure instead: requests per second with and without the sandbox, by `wrk`
  --rounds N         load: rounds of all candidates, 3 if not given
  --seconds N        load: of each round, for each candidate, 2 if not given
  --connections N    load: open at once, 16 if not given
";

fn main() -> ExitCode {
    output::end("riverrun-requests", command().map_err(|error| error as _))
}

fn command() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 8080));
    let (mut compiled, mut is_load) = (false, false);
    let mut amount = Amount { rounds: 3, time: Duration::from_secs(2), connections: 16 };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => listen = parser.value()?.parse()?,
            Long("compile") => compiled = true,
            Long("load") => is_load = true,
            Long("rounds") => amount.rounds = parser.value()?.parse::<std::num::NonZero<usize>>()?.get(),
            Long("seconds") => amount.time = Duration::from_secs(parser.value()?.parse()?),
            Long("connections") => amount.connections = parser.value()?.parse::<std::num::NonZero<u32>>()?.get(),
            Long("help") | Short('h') => return Ok(output::print(HELP)?),
            other => return Err(format!("{}; --help lists the options", other.unexpected()).into()),
        }
    }
    let runtime = Runtime::new()?;
    if is_load {
        // All processors are busy, and a request that waits for one must not fail.
        let limits = Limits { time: Duration::from_secs(10), ..Limits::default() };
        let mut plugins = vec![("a machine for each, interpreted", Plugin::new(false, limits)?)];
        if compiled {
            plugins.insert(0, ("a machine for each, compiled", Plugin::new(true, limits)?));
        }
        return Ok(output::print(&load::measure(&runtime, &plugins, amount)?)?);
    }
    let handler = Arc::new(Handler::Plugin(Plugin::new(compiled, Limits::default())?));
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(|error| format!("{listen}: {error}"))?;
        output::print(&format!("http://{}\n", listener.local_addr()?))?;
        match serve(listener, handler).await {}
    })
}
