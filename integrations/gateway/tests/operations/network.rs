//! Variables about certificates.

use crate::process::{PATIENCE, Process};
use crate::tls_server::{Authority, TlsServer};

/// Asks for a list of files: the status and the text of the answer.
pub(crate) async fn ask(gateway: &Process) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = client.get(gateway.url("/v1/files")).timeout(PATIENCE);
    let answer = asked.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn authorities_in_the_files_of_the_usual_variables_are_trusted() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let file = authority.write(folder.path());
    let server = TlsServer::start(&authority.sign("localhost")).await;
    let config = format!("[[upstreams]]\nurl = \"{}\"\n", server.url());
    let variables = [("SSL_CERT_FILE", file.to_str().unwrap())];
    assert_eq!(ask(&Process::start(&config, &variables)).await.0, 200);
    assert_eq!(
        ask(&Process::start(&format!("{config}roots = \"system\""), &variables)).await.0,
        200
    );
    // Mozilla's list was asked for, and no variable changes it.
    let mozilla = Process::start(&format!("{config}roots = \"webpki\""), &variables);
    let (status, said) = ask(&mozilla).await;
    assert_eq!(status, 502);
    assert!(said.contains("unknown issuer"), "{said}");
    mozilla.wait_for("unknown issuer", 1);
    assert_eq!(ask(&Process::start(&config, &[])).await.0, 502);
}

#[test]
fn certificates_that_cannot_be_read_are_found_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    let config = "[[upstreams]]\nurl = \"https://a.example/v1\"\nca_file = \"/no/such.pem\"";
    std::fs::write(&file, config).unwrap();
    let checked = Process::command(&file, &[]).arg("--check").output().unwrap();
    let said = String::from_utf8(checked.stderr).unwrap();
    assert!(
        !checked.status.success() && said.contains("upstreams[0].ca_file: /no/such.pem"),
        "{said}"
    );
}
