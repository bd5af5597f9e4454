use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

#[tokio::test]
async fn connection_writes_chunks_then_breaks() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let (stream, _) = listener.accept().await.expect("a connection");
    let connection = Connection::default();
    let mut wire = Wire {
        stream,
        connection: connection.clone(),
    };
    assert_eq!(wire.write(b"whole").await.expect("written"), 5);
    connection.write_in_pieces_of(2);
    assert_eq!(wire.write(b"in pieces").await.expect("written"), 2);
    wire.flush().await.expect("nothing is broken yet");
    connection.break_off();
    wire.write_all(b" - and all").await.expect("written");
    assert!(wire.flush().await.is_err());
    drop(wire);
    let mut heard = String::new();
    client.read_to_string(&mut heard).await.expect("text");
    assert_eq!(heard, "wholein - and all");
}
