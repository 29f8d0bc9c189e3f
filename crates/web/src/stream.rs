//! The stream of a page: server-sent events from its queue.

use crate::hub::Subscription;
use axum::body::Bytes;
use futures_core::Stream;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::OwnedSemaphorePermit;

/// The body of the reply. It ends when its session does.
pub(crate) struct EventStream {
    subscription: Subscription,
    _permit: OwnedSemaphorePermit,
}

impl EventStream {
    pub(crate) const fn new(subscription: Subscription, permit: OwnedSemaphorePermit) -> Self {
        Self {
            subscription,
            _permit: permit,
        }
    }
}

impl Stream for EventStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.subscription.messages.poll_recv(context);
        if next.is_pending() {
            self.subscription.has_caught_up();
        }
        next.map(|message| message.map(|text| Ok(Bytes::from(text.as_bytes().to_vec()))))
    }
}
