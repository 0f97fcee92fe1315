/// Maps file name extensions to media types, and back.
package enum FileExtensions {
    /// Of several extensions with one type, the first is used for new files.
    private static let table: [(fileExtension: String, mimeType: String)] = [
        ("html", "text/html"), ("htm", "text/html"), ("xhtml", "application/xhtml+xml"), ("css", "text/css"),
        ("js", "text/javascript"), ("mjs", "text/javascript"), ("txt", "text/plain"), ("text", "text/plain"),
        ("log", "text/plain"), ("md", "text/markdown"), ("csv", "text/csv"), ("tsv", "text/tab-separated-values"),
        ("ics", "text/calendar"), ("vcf", "text/vcard"), ("rtf", "application/rtf"), ("xml", "application/xml"),
        ("json", "application/json"), ("jsonld", "application/ld+json"), ("geojson", "application/geo+json"),
        ("plist", "application/x-plist"), ("yaml", "application/yaml"), ("yml", "application/yaml"),
        ("toml", "application/toml"), ("rss", "application/rss+xml"), ("atom", "application/atom+xml"),
        ("wasm", "application/wasm"), ("pdf", "application/pdf"), ("ps", "application/postscript"),
        ("eps", "application/postscript"), ("epub", "application/epub+zip"), ("png", "image/png"),
        ("jpeg", "image/jpeg"), ("jpg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp"),
        ("avif", "image/avif"), ("heic", "image/heic"), ("heif", "image/heif"), ("svg", "image/svg+xml"),
        ("bmp", "image/bmp"), ("tiff", "image/tiff"), ("tif", "image/tiff"), ("ico", "image/vnd.microsoft.icon"),
        ("mp3", "audio/mpeg"), ("m4a", "audio/mp4"), ("aac", "audio/aac"), ("wav", "audio/wav"),
        ("flac", "audio/flac"), ("ogg", "audio/ogg"), ("oga", "audio/ogg"), ("opus", "audio/opus"),
        ("mid", "audio/midi"), ("mp4", "video/mp4"), ("m4v", "video/mp4"), ("mov", "video/quicktime"),
        ("webm", "video/webm"), ("ogv", "video/ogg"), ("mpeg", "video/mpeg"), ("mpg", "video/mpeg"),
        ("avi", "video/x-msvideo"), ("m3u8", "application/vnd.apple.mpegurl"), ("ts", "video/mp2t"),
        ("woff", "font/woff"), ("woff2", "font/woff2"), ("ttf", "font/ttf"), ("otf", "font/otf"),
        ("zip", "application/zip"), ("gz", "application/gzip"), ("tgz", "application/gzip"),
        ("bz2", "application/x-bzip2"), ("xz", "application/x-xz"), ("zst", "application/zstd"),
        ("tar", "application/x-tar"), ("7z", "application/x-7z-compressed"), ("rar", "application/vnd.rar"),
        ("jar", "application/java-archive"), ("deb", "application/vnd.debian.binary-package"),
        ("iso", "application/x-iso9660-image"), ("doc", "application/msword"),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("xls", "application/vnd.ms-excel"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("ppt", "application/vnd.ms-powerpoint"),
        ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        ("odt", "application/vnd.oasis.opendocument.text"), ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
        ("bin", "application/octet-stream"),
    ]

    private static let mimeTypes = Dictionary(
        table.map { ($0.fileExtension, $0.mimeType) }, uniquingKeysWith: { first, _ in first })
    private static let fileExtensions = Dictionary(
        table.map { ($0.mimeType, $0.fileExtension) }, uniquingKeysWith: { first, _ in first })

    /// The media type of an extension, in any case and without the dot.
    package static func mimeType(ofExtension fileExtension: String) -> String? {
        mimeTypes[fileExtension.lowercased()]
    }

    /// The extension, without the dot, for a media type in lower case.
    package static func fileExtension(forMimeType mimeType: String) -> String? {
        switch mimeType {
        case "text/xml": "xml"
        case "application/javascript", "application/x-javascript": "js"
        case "application/x-gzip": "gz"
        case "image/x-icon": "ico"
        // Says nothing about the content, so no extension is added.
        case "application/octet-stream": nil
        default: fileExtensions[mimeType]
        }
    }

    /// The text after the last dot of a file name. Nil without one, or if the dot is the first or last character.
    package static func fileExtension(ofName name: String) -> String? {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return nil }
        let rest = name[name.index(after: dot)...]
        return rest.isEmpty ? nil : String(rest)
    }
}
