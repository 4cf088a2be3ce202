//! The session behind the context that functions are called with: for those that tell of it.

use std::any::Any;

use ::plan::function::Context;
use ::session::SessionState;
use ::session::frame::Frame;

/// Every context is made by the engine, of one type of session and frame.
const ONE_TYPE: &str = "the engine's sessions and frames are of one type";

/// The session that calls.
pub(super) fn session_of<'c>(cx: &'c Context<'_>) -> &'c SessionState {
    <dyn Any>::downcast_ref(cx.session()).expect(ONE_TYPE)
}

/// The session that calls, to be changed.
pub(super) fn session_mut<'c>(cx: &'c mut Context<'_>) -> &'c mut SessionState {
    <dyn Any>::downcast_mut(cx.session_mut()).expect(ONE_TYPE)
}

/// The frame of the module that calls.
pub(super) fn frame_of<'c>(cx: &'c Context<'_>) -> &'c Frame {
    <dyn Any>::downcast_ref(cx.frame()).expect(ONE_TYPE)
}
