//! The server: HTTP/1.1 in front of a handler.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::{BODY_MAX, Handler, Reply};

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Connections that are open at once. More wait until one of them ends.
const CONNECTIONS: usize = 512;

/// The time in which a body has to come. For heads, and between requests, it is hyper's default.
const BODY_TIME: Duration = Duration::from_secs(10);

/// How long the server waits after an error of `accept`, such as too many open files in the process.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves the connections that come in, until the runtime ends.
///
/// Handlers run on the runtime's own threads, as they are limited to some milliseconds. Longer ones belong on threads of
/// their own (`spawn_blocking`).
pub async fn serve(listener: TcpListener, handler: Arc<Handler>) -> Infallible {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = connections.clone().acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        // Only faster with it.
        stream.set_nodelay(true).ok();
        let handler = handler.clone();
        let service = service_fn(move |request| {
            let handler = handler.clone();
            async move { Ok::<_, Infallible>(answer(&handler, request).await) }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new());
        let connection = http.serve_connection(TokioIo::new(stream), service);
        // A client that breaks off is no concern of the others.
        tokio::spawn(async move {
            connection.await.ok();
            drop(place);
        });
    }
}

async fn answer(handler: &Handler, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let too_long = || response(413, format!("a body of up to {BODY_MAX} bytes is wanted\n").into(), TEXT);
    // Told beforehand, or found out.
    if body.size_hint().lower() > BODY_MAX as u64 {
        return too_long();
    }
    let body = match timeout(BODY_TIME, Limited::new(body, BODY_MAX).collect()).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) if error.is::<LengthLimitError>() => return too_long(),
        Ok(Err(error)) => return response(400, format!("the body cannot be read: {error}\n").into(), TEXT),
        Err(_) => return response(408, format!("the body did not come within {BODY_TIME:?}\n").into(), TEXT),
    };
    match handler.handle(head.uri.path(), &body.to_bytes()) {
        Ok(Reply { status, page }) => response(status, page.into(), HTML),
        Err(error) => response(500, format!("{error}\n").into(), TEXT),
    }
}

fn response(status: u16, page: Bytes, kind: HeaderValue) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(page));
    // A plugin can answer any number.
    *response.status_mut() = status.try_into().unwrap_or(hyper::StatusCode::BAD_GATEWAY);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
