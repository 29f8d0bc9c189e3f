//! The names of models.

/// The name of a model in bookings: without the path of a script.
pub fn normal_name(model: &str) -> &str {
    match model.split_once(':') {
        Some(("script", _)) => "script",
        Some(_) | None => model,
    }
}

/// The name without its provider.
pub(crate) fn bare_name(model: &str) -> &str {
    let bare = model.split_once(':').map_or(model, |(_, bare)| bare);
    // Some servers put the vendor before the name.
    bare.rsplit_once('/').map_or(bare, |(_, bare)| bare)
}

/// Whether a name is that of a family or of a dated version of it. A later model with a similar name
/// is another one and does not match.
pub(crate) fn is_of_family(name: &str, family: &str) -> bool {
    let Some(rest) = name.strip_prefix(family) else {
        return false;
    };
    let Some(version) = rest.strip_prefix('-') else {
        return rest.is_empty();
    };
    let is_date = version.chars().all(|c| c.is_ascii_digit() || c == '-');
    let digits = version.chars().filter(char::is_ascii_digit).count();
    version == "latest" || version == "0" || is_date && digits >= 6
}
