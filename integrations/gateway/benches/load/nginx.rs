//! Nginx as a reverse proxy, if it is installed.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::client::Failure;

/// A process that is ended when this is dropped.
pub(crate) struct Nginx {
    process: Child,
    folder: tempfile::TempDir,
    pub(crate) slow: SocketAddr,
    pub(crate) fast: SocketAddr,
}

impl Nginx {
    /// Starts it in front of two upstreams; `None` if it is not installed.
    pub(crate) fn start(slow: SocketAddr, fast: SocketAddr) -> Result<Option<Self>, Failure> {
        let folder = tempfile::tempdir()?;
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let (front_slow, front_fast) = (free()?, free()?);
        let server = |listen: SocketAddr, name: &str| {
            format!(
                "server {{ listen {listen}; location / {{ proxy_pass http://{name}; \
                 proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; }} }}"
            )
        };
        let upstream = |name: &str, to: SocketAddr| {
            format!("upstream {name} {{ server {to}; keepalive 256; }}")
        };
        let path = folder.path().display();
        let config = format!(
            "daemon off; worker_processes 2; pid {path}/pid; error_log stderr crit;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; client_max_body_size 32m; client_body_buffer_size 1m;\n\
             client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;\n\
             fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;\n\
             {}\n{}\n{}\n{} }}\n",
            upstream("slow", slow),
            upstream("fast", fast),
            server(front_slow, "slow"),
            server(front_fast, "fast"),
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config)?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&file).arg("-p").arg(folder.path());
        let Ok(process) = command.stdout(Stdio::null()).spawn() else { return Ok(None) };
        let nginx = Self { process, folder, slow: front_slow, fast: front_fast };
        for _ in 0..100 {
            if TcpStream::connect(nginx.fast).is_ok() {
                return Ok(Some(nginx));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("nginx does not listen: see its messages above ({:?})", nginx.folder).into())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The main process ends its workers.
        let id = self.process.id().to_string();
        drop(Command::new("kill").arg(id).status());
        drop(self.process.wait());
    }
}
