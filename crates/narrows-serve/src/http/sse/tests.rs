use std::time::Duration;

use narrows_gateway::Gateway;
use narrows_gateway::settings::Settings;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::http::HttpSettings;

#[tokio::test]
async fn ended_stream_is_removed() {
    let gateway = Gateway::start(Settings::default());
    let stop = CancellationToken::new();
    let edge = Arc::new(Edge::new(gateway, HttpSettings::default(), stop));
    let count = || edge.inboxes.0.read().len();
    let (one, two) = (
        start(
            &edge,
            Target::DEFAULT,
            Principal::Anonymous,
            edge.gateway.memory(),
        ),
        start(
            &edge,
            Target::DEFAULT,
            Principal::Anonymous,
            edge.gateway.memory(),
        ),
    );
    assert_eq!(count(), 2);
    drop((one, two));
    edge.tasks.close();
    let ended = timeout(Duration::from_secs(20), edge.tasks.wait()).await;
    assert!(ended.is_ok());
    assert_eq!(count(), 0);
}
