//! A listener that prints its address: `bench/run` passes port 0 and reads the line.

use std::net::SocketAddr;

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::Fault;

/// Accepts connections forever, each in its own task.
pub(crate) async fn serve<F>(
    address: SocketAddr,
    mut serve_one: impl FnMut(TcpStream) -> F,
) -> Result<(), Fault>
where
    F: Future<Output = ()> + 'static,
{
    let listener = TcpListener::bind(address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    println!("{}", json!({ "url": url }));
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::task::spawn_local(serve_one(socket));
    }
}

pub(crate) async fn dial(address: SocketAddr) -> Result<TcpStream, Fault> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}
