//! The chart of a report: bars on a logarithmic scale, as an SVG of its own making.
//!
//! What is drawn is in [`mod@panels`]; this file is the drawing. The picture has its own background, so
//! that it can be read on a light page and on a dark one.

mod panels;

use super::report::{Report, Value};
use panels::{Lane, Panel, Role, panels};
use std::fmt::Write as _;

const WIDTH: f64 = 940.0;
/// Where the bars begin and end.
const BARS: (f64, f64) = (268.0, 690.0);
const MARGIN: f64 = 24.0;
/// The height of a lane with one bar.
const LANE: f64 = 19.0;
/// The height of each bar where a lane has several.
const THIN: f64 = 7.0;

/// Draws a report.
pub(super) fn draw(report: &Report) -> String {
    let mut picture = Picture {
        y: 38.0,
        ..Picture::default()
    };
    picture.text(
        (MARGIN, picture.y),
        "title",
        "team-lead beside its limits and the alternatives",
    );
    picture.y += 20.0;
    let machine = report.machine.iter().take(2);
    let machine = machine.map(String::as_str).collect::<Vec<_>>().join("; ");
    picture.text((MARGIN, picture.y), "note", &machine);
    picture.y += 18.0;
    picture.legend();
    for panel in panels(report) {
        picture.panel(&panel);
    }
    picture.y += 16.0;
    for line in panels::facts(report) {
        picture.y += 20.0;
        picture.text((MARGIN, picture.y), "fact", &line);
    }
    picture.finish()
}

#[derive(Default)]
struct Picture {
    body: String,
    y: f64,
}

impl Picture {
    fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" class="{class}">{text}</text>"#
        );
    }

    fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="1.5" class="{class}"/>"#
        );
    }

    fn line(&mut self, (x, y): (f64, f64), (to_x, to_y): (f64, f64), class: &str) {
        let _ = writeln!(
            self.body,
            r#"<line x1="{x:.1}" y1="{y:.1}" x2="{to_x:.1}" y2="{to_y:.1}" class="{class}"/>"#
        );
    }

    fn legend(&mut self) {
        let mut x = MARGIN;
        for role in [Role::Ours, Role::Limit, Role::Alternative] {
            self.bar((x, self.y - 9.0), (12.0, 10.0), role.class());
            self.text((x + 17.0, self.y), "note", role.words());
            x += 17.0 + 6.4 * role.words().len() as f64 + 22.0;
        }
    }

    fn panel(&mut self, panel: &Panel) {
        self.y += 34.0;
        self.text((MARGIN, self.y), "head", &panel.title);
        self.y += 15.0;
        self.text((MARGIN, self.y), "note", &panel.about);
        self.y += 8.0;
        let scale = Scale::over(panel);
        let top = self.y;
        let height: f64 = panel.lanes.iter().map(lane_height).sum();
        for decade in scale.decades() {
            let x = scale.place(decade);
            self.line((x, top), (x, top + height), "grid");
            let label = mark(panel.unit(decade));
            self.text((x, top + height + 12.0), "tick", &label);
        }
        for lane in &panel.lanes {
            self.lane(lane, &scale);
        }
        self.y += 14.0;
    }

    fn lane(&mut self, lane: &Lane, scale: &Scale) {
        let height = lane_height(lane);
        let middle = self.y + height / 2.0 + 4.0;
        let class = if lane.role == Role::Ours {
            "own"
        } else {
            "label"
        };
        self.text((BARS.0 - 8.0, middle), &format!("{class} end"), &lane.label);
        let thick = match lane.values.len() {
            1 => LANE - 7.0,
            _ => THIN - 1.0,
        };
        let mut y = self.y + 3.0;
        for value in &lane.values {
            let end = scale.place(value.number());
            self.bar(
                (BARS.0, y),
                ((end - BARS.0).max(2.0), thick),
                lane.role.class(),
            );
            y += thick + 1.0;
        }
        if let (Some(first), Some(far)) = (lane.values.first(), &lane.far) {
            let y = self.y + 3.0 + thick / 2.0;
            let end = scale.place(far.number());
            self.line((scale.place(first.number()), y), (end, y), "far");
            self.line((end, y - 4.0), (end, y + 4.0), "far");
        }
        self.text((BARS.1 + 12.0, middle), class, &lane.words());
        self.y += height;
    }

    fn finish(self) -> String {
        let (body, height) = (self.body, self.y + MARGIN);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0} {height:.0}" width="{WIDTH:.0}" height="{height:.0}" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="12">
<style>
.page {{ fill: #ffffff; stroke: #d0d7de; }}
text {{ fill: #3d444d; }}
.title {{ font-size: 17px; font-weight: 600; fill: #1f2328; }}
.head {{ font-size: 13px; font-weight: 600; fill: #1f2328; }}
.own {{ font-weight: 600; fill: #0b4fae; }}
.note, .tick {{ font-size: 11px; fill: #59636e; }}
.tick {{ text-anchor: middle; }}
.end {{ text-anchor: end; }}
.fact {{ fill: #1f2328; }}
.ours {{ fill: #1a6fdf; }}
.limit {{ fill: #aab4c0; }}
.alternative {{ fill: #e2973f; }}
.grid {{ stroke: #e4e8ec; stroke-width: 1; }}
.far {{ stroke: #1f2328; stroke-width: 1; }}
</style>
<rect class="page" x="0.5" y="0.5" width="{:.0}" height="{:.0}" rx="8"/>
{body}</svg>
"##,
            WIDTH - 1.0,
            height - 1.0,
        )
    }
}

fn lane_height(lane: &Lane) -> f64 {
    match lane.values.len() {
        0 | 1 => LANE,
        several => THIN.mul_add(several as f64, 7.0),
    }
}

/// A logarithmic scale of whole decades.
struct Scale {
    first: i32,
    last: i32,
}

impl Scale {
    fn over(panel: &Panel) -> Self {
        let values = panel
            .lanes
            .iter()
            .flat_map(|lane| lane.values.iter().chain(&lane.far));
        let logs = values.map(|value| value.number().max(1e-9).log10());
        let (least, most) = logs.fold((f64::MAX, f64::MIN), |(least, most), log| {
            (least.min(log), most.max(log))
        });
        // Room below the least, so that its bar has a length.
        let first = (least - 0.15).floor() as i32;
        Self {
            first,
            last: (most.ceil() as i32).max(first + 1),
        }
    }

    fn decades(&self) -> impl Iterator<Item = f64> + use<> {
        (self.first..=self.last).map(|power| 10_f64.powi(power))
    }

    fn place(&self, number: f64) -> f64 {
        let log = number.max(1e-9).log10() - f64::from(self.first);
        let share = log / f64::from(self.last - self.first);
        BARS.0 + (BARS.1 - BARS.0) * share.clamp(0.0, 1.0)
    }
}

/// A power of ten, short.
fn mark(value: Value) -> String {
    let text = value.to_string().replace(',', "");
    let text = text.replace(".00", "").replace("10.0 ", "10 ");
    text.replace("000000/s", "M/s").replace("000/s", "k/s")
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
