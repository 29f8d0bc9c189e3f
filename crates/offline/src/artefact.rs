//! Plausible first contents of files that are asked for without any.

/// Kinds of things that are asked for by what they are, with their file.
const THINGS: &[(&str, &str)] = &[
    ("server config", "server_config.json"),
    ("server configuration", "server_config.json"),
    ("server", "server.py"),
    ("web page", "index.html"),
    ("html page", "index.html"),
    ("homepage", "index.html"),
    ("landing page", "index.html"),
    ("stylesheet", "style.css"),
    ("style sheet", "style.css"),
    ("config", "settings.json"),
    ("configuration", "settings.json"),
    ("readme", "README.md"),
    ("script", "script.sh"),
    ("shell script", "script.sh"),
    ("test", "test.sh"),
    ("dockerfile", "Dockerfile"),
    ("makefile", "Makefile"),
];

/// Kinds of files, with the endings of their names.
const ENDINGS: &[(&str, &str)] = &[
    ("rust", "rs"),
    ("rs", "rs"),
    ("python", "py"),
    ("py", "py"),
    ("markdown", "md"),
    ("md", "md"),
    ("toml", "toml"),
    ("json", "json"),
    ("text", "txt"),
    ("txt", "txt"),
    ("javascript", "js"),
    ("typescript", "ts"),
    ("html", "html"),
    ("css", "css"),
    ("shell", "sh"),
    ("java", "java"),
    ("go", "go"),
    ("c", "c"),
];

/// The path and content of a thing, if it is a known kind of thing.
pub(super) fn made(thing: &str) -> Option<(String, String)> {
    let thing = thing.to_lowercase();
    let thing = thing.strip_suffix(" file").unwrap_or(&thing);
    let (_, path) = THINGS.iter().find(|(name, _)| *name == thing)?;
    Some(((*path).to_owned(), content(path)))
}

/// The ending of the names of files of a kind.
pub(super) fn ending(kind: &str) -> Option<String> {
    let kind = kind.to_lowercase();
    let kind = kind.trim_start_matches(['*', '.']);
    let known = ENDINGS
        .iter()
        .find(|(name, _)| *name == kind || kind == format!("{name} source"));
    known.map(|(_, ending)| (*ending).to_owned())
}

/// A first content for a file, told by its name.
pub(super) fn content(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let text = match ending.to_lowercase().as_str() {
        "html" | "htm" => {
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  <title>Hello</title>\n</head>\n\
             <body>\n  <h1>Hello</h1>\n  <p>This page was made by the offline model.</p>\n</body>\n</html>\n"
        }
        "css" => "body {\n  font-family: sans-serif;\n  margin: 2rem;\n}\n",
        "js" | "ts" => "console.log(\"hello\");\n",
        "json" => "{\n  \"host\": \"127.0.0.1\",\n  \"port\": 8080\n}\n",
        "toml" | "conf" | "ini" | "cfg" => "host = \"127.0.0.1\"\nport = 8080\n",
        "yaml" | "yml" => "host: 127.0.0.1\nport: 8080\n",
        "py" => "print(\"hello\")\n",
        "rs" => {
            "/// Made by the offline model.\npub fn hello() -> &'static str {\n    \"hello\"\n}\n"
        }
        "sh" => "#!/bin/sh\necho hello\n",
        _ => return format!("{name}\n"),
    };
    text.to_owned()
}
