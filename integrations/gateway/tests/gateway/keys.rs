//! Destinations of keys, and addresses on which a key may be used.

use cupel_gateway::{ClientKey, Config, Gateway, Secret, Upstream, UpstreamKey};
use tokio::net::TcpListener;

use crate::raw::{exchange, request, status};
use crate::support::{Running, config, ok_server};

#[tokio::test]
async fn a_key_of_the_gateways_goes_to_no_upstream() {
    let server = ok_server().await;
    for key in [UpstreamKey::Client, UpstreamKey::None, UpstreamKey::Own(Secret::new("sk-own"))] {
        let is_clients = key == UpstreamKey::Client;
        let mut config = config(server.url());
        config.upstreams = vec![Upstream::new(server.url()).unwrap().key(key)];
        config.keys = vec![
            ClientKey::new("gate-1", Secret::new("gate-1")),
            ClientKey::new("gate-2", Secret::new("gate-2")),
        ];
        let gateway = Running::start(config).await;
        for (headers, theirs) in [
            ("Authorization: Bearer gate-1\r\n", None),
            ("x-api-key: gate-2\r\nAuthorization: Bearer gate-1\r\n", None),
            ("Authorization: Bearer gate-1\r\nx-api-key: sk-client\r\n", Some("x-api-key")),
            ("x-cupel-key: gate-2\r\nAuthorization: Bearer sk-client\r\n", Some("authorization")),
        ] {
            let asked = request(gateway.address, "GET /v1/models", headers, "");
            assert_eq!(status(&exchange(gateway.address, asked).await), 200, "{headers}");
            let arrived = server.take_arrived().remove(0).headers;
            let seen = format!("{arrived:?}");
            assert!(!seen.contains("gate-"), "{headers}: {seen}");
            let theirs = theirs.filter(|_| is_clients);
            assert_eq!(seen.contains("sk-client"), theirs.is_some(), "{headers}: {seen}");
            assert!(theirs.is_none_or(|name| arrived.contains_key(name)), "{headers}: {seen}");
        }
    }
}

#[tokio::test]
async fn a_key_is_not_given_to_everybody_by_a_listener_either() {
    let own = Upstream::new("http://127.0.0.1:9/v1").unwrap();
    let mut config = Config::new(own.key(UpstreamKey::Own(Secret::new("sk-upstream"))));
    for address in ["0.0.0.0:0", "[::]:0"] {
        // Some machines have no addresses of the newer kind.
        let Ok(listener) = TcpListener::bind(address).await else { continue };
        let gateway = Gateway::new(config.clone()).unwrap();
        let error = gateway.serve(listener, std::future::ready(())).await.unwrap_err();
        assert!(error.to_string().starts_with("keys: "), "{error}");
    }
    config.keys = vec![ClientKey::new("gate", Secret::new("gate"))];
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let gateway = Gateway::new(config).unwrap();
    gateway.serve(listener, std::future::ready(())).await.unwrap();
}

/// Clients that share an upstream's key are not shown each other's files and answers.
#[tokio::test]
async fn only_routes_that_ask_a_model_pass_with_a_key_that_several_share() {
    let server = ok_server().await;
    let own = || Upstream::new(server.url()).unwrap().key(UpstreamKey::Own(Secret::new("sk-own")));
    let gate = |name: &str| ClientKey::new(name, Secret::new(name));
    let with = |keys: Vec<ClientKey>, upstream: Upstream| {
        let mut config = config(server.url());
        (config.keys, config.upstreams) = (keys, vec![upstream]);
        config.routes = vec!["GET /v1/batches*".to_owned()];
        config
    };
    let closed = [
        "GET /v1/files",
        "DELETE /v1/files/file-1",
        "GET /v1/responses/resp_1",
        "POST /v1/responses/resp_1/cancel",
        "GET /v1/chat/completions",
        "GET /v1/organization/admin_api_keys",
        "DELETE /v1/models/ft:a",
        "POST /v1/batches",
        "GET /",
        "GET /healthz",
        "GET /v1/modelsx",
    ];
    let open = [
        "GET /v1/models",
        "GET /models/gpt-5",
        "POST /v1/embeddings",
        "POST /v1/messages/count_tokens/",
        "POST /audio/speech",
        "GET /v1/batches/b_1",
    ];
    for (config, is_limited) in [
        (with(vec![gate("one"), gate("two")], own()), true),
        (with(vec![], own()), true),
        (with(vec![gate("one")], own()), false),
        (with(vec![gate("one"), gate("two")], own().key(UpstreamKey::Client)), false),
    ] {
        let gateway = Running::start(config).await;
        for (lines, is_open) in [(&closed[..], !is_limited), (&open[..], true)] {
            for line in lines {
                let asked = request(gateway.address, line, "Authorization: Bearer one\r\n", "");
                let answer = exchange(gateway.address, asked).await;
                let has_passed = !server.take_arrived().is_empty();
                assert_eq!(has_passed, is_open, "{line}: {answer}");
                assert_eq!(answer.contains("route_not_open"), !is_open, "{line}: {answer}");
            }
        }
        let trace = request(gateway.address, "TRACE /v1/models", "x-cupel-key: one\r\n", "");
        assert_eq!(status(&exchange(gateway.address, trace).await), 405);
        assert!(server.take_arrived().is_empty());
    }
}
