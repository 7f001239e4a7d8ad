//! A page from a server with a strict policy: with a nonce, and with files of the server's own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use cupel::explain::{SCRIPT, STYLE};

use crate::browser;
use crate::data::explanation;

/// Serves a page under a policy, its files beside it, until the test ends; the address.
fn serve(html: String, policy: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            // The rest of the request, up to the empty line.
            for header in reader.lines() {
                if header.unwrap().is_empty() {
                    break;
                }
            }
            let (kind, body) = match line.split(' ').nth(1).unwrap_or_default() {
                "/" => ("text/html", html.as_str()),
                "/page.css" => ("text/css", STYLE),
                "/page.js" => ("text/javascript", SCRIPT),
                _ => ("image/x-icon", ""),
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}; charset=utf-8\r\n\
                 content-security-policy: {policy}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body.as_bytes()).unwrap();
        }
    });
    format!("http://{address}/")
}

#[test]
fn strict_policies_are_met() {
    let mut browser = browser!();
    let explanation = explanation(300);
    let page = || explanation.page().home("/", "All calls");
    let cases = [
        (
            page().nonce("n0nce").to_string(),
            "default-src 'none'; style-src 'nonce-n0nce'; script-src 'nonce-n0nce'; base-uri 'none'",
        ),
        (
            page().assets("/page.css", "/page.js").to_string(),
            "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'",
        ),
    ];
    for (html, policy) in cases {
        let address = serve(html, policy);
        let mut tab = browser.open(&address).unwrap();
        assert_eq!(tab.eval("document.documentElement.dataset.ready").unwrap(), "true");
        assert_eq!(tab.errors().unwrap(), [""; 0]);
        assert_eq!(tab.text("#h-window").unwrap(), "The window");
        assert_eq!(tab.text(".home").unwrap(), "All calls");
        // It is laid out, and the bars have their widths.
        let drawn = "document.querySelector('#bar i').getBoundingClientRect().width > 5 && getComputedStyle(document.querySelector('.grid')).display === 'grid'";
        assert_eq!(tab.eval(drawn).unwrap(), true);
        let requests = tab.requests().unwrap();
        assert!(requests.iter().all(|url| url.starts_with(&address)), "{requests:?}");
    }
}
