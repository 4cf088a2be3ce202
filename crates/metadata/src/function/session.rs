//! Access to the session and the frame behind the `Context` that functions are called with.

use std::any::Any;

use ::plan::function::Context;
use ::session::SessionState;
use ::session::frame::Frame;

/// The panic message: only the engine makes contexts, and always with these types.
const ONE_TYPE: &str = "the engine's sessions and frames are of one type";

/// Returns the session that calls the function.
pub(super) fn session_of<'c>(cx: &'c Context<'_>) -> &'c SessionState {
    <dyn Any>::downcast_ref(cx.session()).expect(ONE_TYPE)
}

/// Returns the session that calls the function, mutably.
pub(super) fn session_mut<'c>(cx: &'c mut Context<'_>) -> &'c mut SessionState {
    <dyn Any>::downcast_mut(cx.session_mut()).expect(ONE_TYPE)
}

/// Returns the frame of the module that calls the function.
pub(super) fn frame_of<'c>(cx: &'c Context<'_>) -> &'c Frame {
    <dyn Any>::downcast_ref(cx.frame()).expect(ONE_TYPE)
}
