//! A server that answers every request with the given bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::within;

/// The reaction to a request.
#[derive(Clone)]
pub(super) enum Behaviour {
    /// Writes these bytes and closes the connection.
    Send(Vec<u8>),
    /// Writes these bytes and reads the next request.
    KeepSending(Vec<u8>),
    /// Returns the request as the result.
    Echo,
    /// Writes these bytes and resets the connection.
    Reset(Vec<u8>),
    /// Writes these bytes, then sends nothing until the client disconnects.
    Stall(Vec<u8>),
    /// Writes a head, then the same piece `times` times.
    Pour {
        head: Vec<u8>,
        piece: Vec<u8>,
        times: usize,
    },
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    seen: mpsc::UnboundedReceiver<Seen>,
    left: Arc<Notify>,
    connections: Arc<AtomicUsize>,
    written: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

pub(super) struct Seen {
    pub(super) line: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Server {
    pub(super) async fn start(does: Behaviour) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (see, seen) = mpsc::unbounded_channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let written = Arc::new(AtomicUsize::new(0));
        let left = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        let (accepted, counted) = (connections.clone(), written.clone());
        let leaving = left.clone();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                socket.set_nodelay(true).unwrap();
                let (see, written, left) = (see.clone(), counted.clone(), leaving.clone());
                open.spawn(serve(socket, does.clone(), see, written, left));
            }
        });
        Server {
            address,
            seen,
            left,
            connections,
            written,
            _tasks: tasks,
        }
    }

    /// Starts a server that answers with these bytes, on a new connection each time.
    pub(super) async fn answering_with(answer: Vec<u8>) -> Server {
        Server::start(Behaviour::Send(answer)).await
    }

    /// Returns the next request.
    pub(super) async fn seen(&mut self) -> Seen {
        within("a request", self.seen.recv()).await.unwrap()
    }

    /// Waits until a client has disconnected without receiving its response.
    pub(super) async fn left(&self) {
        within("the client to leave", self.left.notified()).await;
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of bytes written by `Pour`.
    pub(super) fn written(&self) -> usize {
        self.written.load(Ordering::SeqCst)
    }
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Returns a complete response; `headers` consists of lines with their line ends.
pub(super) fn http(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// The head of a chunked response.
pub(super) const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

pub(super) fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

/// Returns a complete chunked response with chunks of `size` bytes.
pub(super) fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut answer = CHUNKED.to_vec();
    body.chunks(size)
        .for_each(|piece| answer.extend(chunk(piece)));
    answer.extend(b"0\r\n\r\n");
    answer
}

async fn serve(
    socket: TcpStream,
    does: Behaviour,
    see: mpsc::UnboundedSender<Seen>,
    written: Arc<AtomicUsize>,
    left: Arc<Notify>,
) {
    let mut socket = BufReader::new(socket);
    while let Some(seen) = read(&mut socket).await {
        let body = seen.body.clone();
        let _ = see.send(seen);
        match &does {
            Behaviour::Send(answer) => {
                let _ = socket.write_all(answer).await;
                return;
            }
            Behaviour::KeepSending(answer) => {
                let _ = socket.write_all(answer).await;
            }
            Behaviour::Echo => {
                let body = String::from_utf8(body).unwrap();
                let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{body}}}"#);
                let _ = socket.write_all(&http(200, "", answer)).await;
            }
            Behaviour::Reset(answer) => {
                let _ = socket.write_all(answer).await;
                let _ = socket.get_ref().set_zero_linger();
                return;
            }
            Behaviour::Stall(answer) => {
                let _ = socket.write_all(answer).await;
                let _ = socket.read_u8().await;
                left.notify_one();
                return;
            }
            Behaviour::Pour { head, piece, times } => {
                let _ = socket.write_all(head).await;
                for _ in 0..*times {
                    if socket.write_all(piece).await.is_err() {
                        return;
                    }
                    written.fetch_add(piece.len(), Ordering::SeqCst);
                }
                return;
            }
        }
    }
}

async fn read(socket: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if socket.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let mut seen = Seen {
        line,
        headers: headers.collect(),
        body: Vec::new(),
    };
    let length = seen.header("content-length").and_then(|it| it.parse().ok());
    seen.body.resize(length.unwrap_or(0), 0);
    socket.read_exact(&mut seen.body).await.ok()?;
    Some(seen)
}
