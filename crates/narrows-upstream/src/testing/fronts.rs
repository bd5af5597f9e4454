//! Test proxies in front of a server: a TLS terminator and an HTTP proxy.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

/// Starts a TLS server for `localhost` and `up.test` in front of a plain one. Returns its port and
/// a client configuration that trusts it.
pub(crate) async fn tls(plain: SocketAddr) -> (u16, rustls::ClientConfig, AbortOnDropHandle<()>) {
    let made =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "up.test".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let task = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut secured) = acceptor.accept(socket).await else {
                    return;
                };
                let mut behind = TcpStream::connect(plain).await.unwrap();
                let _ = copy_bidirectional(&mut secured, &mut behind).await;
            });
        }
    });
    (port, client, AbortOnDropHandle::new(task))
}

/// A proxy that forwards bytes to a fixed server, independent of the requested host.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    /// The heads of the requests that it received.
    pub(crate) heads: mpsc::UnboundedReceiver<String>,
    _task: AbortOnDropHandle<()>,
}

pub(crate) async fn proxy(to: SocketAddr) -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (report, heads) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let mut socket = BufReader::new(socket);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                socket.read_line(&mut head).await.unwrap();
            }
            let _ = report.send(head);
            let agreed = b"HTTP/1.1 200 OK\r\n\r\n";
            socket.get_mut().write_all(agreed).await.unwrap();
            tokio::spawn(async move {
                let mut behind = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut socket, &mut behind).await;
            });
        }
    });
    Proxy {
        address,
        heads,
        _task: AbortOnDropHandle::new(task),
    }
}
