//! Log lines for people.

use std::fmt::{self, Write as _};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Time, level if it is not `INFO`, text. Events below `INFO` also say where they come from: the
/// module and the spans around them. The lines of a text after the first are indented.
pub(super) struct HumanFormat;

impl<S, N> FormatEvent<S, N> for HumanFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::new();
        let level = *event.metadata().level();
        if level != Level::INFO {
            write!(text, "{level} ")?;
        }
        if level > Level::INFO {
            write!(text, "{}", event.metadata().target())?;
            for span in context
                .event_scope()
                .into_iter()
                .flat_map(|scope| scope.from_root())
            {
                write!(text, " {}", span.name())?;
                let extensions = span.extensions();
                if let Some(fields) = extensions.get::<FormattedFields<N>>()
                    && !fields.is_empty()
                {
                    write!(text, "{{{fields}}}")?;
                }
            }
            text.push_str(": ");
        }
        let mut visitor = Visitor::default();
        event.record(&mut visitor);
        text.push_str(&visitor.message);
        text.push_str(&visitor.fields);
        // A log is read at a terminal, which must not act on what a model or another member wrote.
        let text = terminal_text::clean(&text);
        let text = text.trim_end().replace('\n', "\n         ");
        writeln!(writer, "{} {text}", teamdir::now().time_of_day())
    }
}

#[derive(Default)]
struct Visitor {
    message: String,
    fields: String,
}

impl Visit for Visitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
