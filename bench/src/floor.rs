//! A minimal proxy between a client and a server. No gateway can be cheaper, so the comparison
//! shows how much of a gateway's cost is its own.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;

use clap::ValueEnum;
use http_body_util::{Either, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::TcpStream;

use crate::Fault;
use crate::listen::{dial, serve};

/// As large as a read of the gateway, so that an answer of 100 kB costs few system calls here too.
const BUFFER: usize = 64 * 1024;

/// Forward between a client and a server without parsing messages
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    upstream: SocketAddr,
    #[arg(long, value_enum, default_value_t = ProxyMode::Http)]
    manner: ProxyMode,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProxyMode {
    /// A reverse proxy: one request at a time, over a pool of connections
    Http,
    /// One upstream connection per client connection, copying bytes; for SSE and WebSocket
    Copy,
}

pub(crate) async fn run(args: Args) -> Result<(), Fault> {
    let upstream = args.upstream;
    match args.manner {
        ProxyMode::Http => {
            let pool = Rc::new(Pool {
                upstream,
                idle: RefCell::default(),
            });
            serve(args.listen, move |socket| proxy(pool.clone(), socket)).await
        }
        ProxyMode::Copy => serve(args.listen, move |socket| copy(upstream, socket)).await,
    }
}

async fn copy(upstream: SocketAddr, mut near: TcpStream) {
    // When one peer disconnects, only the other one's connection ends.
    if let Ok(mut far) = dial(upstream).await {
        let _ = copy_bidirectional_with_sizes(&mut near, &mut far, BUFFER, BUFFER).await;
    }
}

async fn proxy(pool: Rc<Pool>, socket: TcpStream) {
    let service = service_fn(|request| async {
        Ok::<_, Infallible>(match pool.forward(request).await {
            Ok(answer) => answer.map(Either::Left),
            Err(_) => {
                let mut answer = Response::new(Either::Right(Empty::<Bytes>::new()));
                *answer.status_mut() = StatusCode::BAD_GATEWAY;
                answer
            }
        })
    });
    let _ = Builder::new()
        .serve_connection(TokioIo::new(socket), service)
        .await;
}

struct Pool {
    upstream: SocketAddr,
    /// Connections for reuse, whose last response may still be in transit.
    idle: RefCell<Vec<SendRequest<Incoming>>>,
}

impl Pool {
    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Incoming>, Fault> {
        let mut connection = match self.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let answer = connection.send_request(request).await?;
        self.idle.borrow_mut().push(connection);
        Ok(answer)
    }

    fn take(&self) -> Option<SendRequest<Incoming>> {
        let mut idle = self.idle.borrow_mut();
        loop {
            let usable = |one: &SendRequest<Incoming>| one.is_ready() || one.is_closed();
            let index = idle.iter().position(usable)?;
            let connection = idle.swap_remove(index);
            if connection.is_ready() {
                return Some(connection);
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Incoming>, Fault> {
        let socket = dial(self.upstream).await?;
        let (mut sender, connection) = handshake(TokioIo::new(socket)).await?;
        tokio::task::spawn_local(connection);
        sender.ready().await?;
        Ok(sender)
    }
}
