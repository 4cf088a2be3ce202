//! speedscope's file format: <https://www.speedscope.app/file-format-schema.json>.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Frame, Profile};
use crate::json::{join, quote};

/// Returns a profile in speedscope's format.
#[must_use]
pub fn speedscope(profile: &Profile, name: &str) -> String {
    let mut frames: Vec<&Rc<Frame>> = Vec::new();
    let mut places: HashMap<(&str, Option<&str>, Option<u32>), usize> = HashMap::new();
    let mut samples = Vec::new();
    for stack in &profile.stacks {
        let places = stack.frames.iter().rev().map(|frame| {
            let key = (frame.name.as_str(), frame.file.as_deref(), frame.line);
            let place = *places.entry(key).or_insert_with(|| {
                frames.push(frame);
                frames.len() - 1
            });
            place.to_string()
        });
        samples.push(format!("[{}]", join(places)));
    }
    let frames = frames.into_iter().map(|frame| {
        let file =
            frame.file.as_deref().map_or(String::new(), |f| format!(",\"file\":{}", quote(f)));
        let line = frame.line.map_or(String::new(), |line| format!(",\"line\":{line}"));
        format!("{{\"name\":{}{file}{line}}}", quote(&frame.name))
    });
    let weights = profile.stacks.iter().map(|stack| stack.weight.to_string());
    format!(
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
         \"exporter\":\"clearway\",\"name\":{name},\"activeProfileIndex\":0,\
         \"shared\":{{\"frames\":[{frames}]}},\"profiles\":[{{\"type\":\"sampled\",\"name\":{title},\
         \"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{total},\"samples\":[{samples}],\
         \"weights\":[{weights}]}}]}}\n",
        name = quote(name),
        frames = join(frames),
        title = quote(profile.kind.title()),
        unit = profile.kind.unit(),
        total = profile.total(),
        samples = join(samples.into_iter()),
        weights = join(weights),
    )
}
