//! A way to a server that can stop answering, as a machine does that hangs.

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::postgres::{PASSWORD, Server};

pub struct HangingServer {
    pub address: String,
    hangs: watch::Sender<bool>,
}

impl HangingServer {
    /// Passes on what is said to and by a new database of the server.
    pub async fn in_front_of(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let to = server.tcp_address(&server.database(), PASSWORD);
        let (host, database) = to.rsplit_once('/').unwrap();
        let (host, server_port) = host.rsplit_once(':').unwrap();
        let address = format!("{host}:{port}/{database}");
        let server_port: u16 = server_port.parse().unwrap();
        let (hangs, watched) = watch::channel(false);
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut watched = watched.clone();
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(("127.0.0.1", server_port)).await.unwrap();
                    let hung = async {
                        let _ = watched.wait_for(|hangs| *hangs).await;
                    };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                        () = hung => std::future::pending().await,
                    }
                });
            }
        });
        Self { address, hangs }
    }

    pub fn hang(&self) {
        self.hangs.send_replace(true);
    }
}
