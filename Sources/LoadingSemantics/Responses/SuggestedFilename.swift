/// The file name for a response body.
package enum SuggestedFilename {
    /// By `Content-Disposition`, else the last path component of the URL, else "Unknown" (MISC-12).
    ///
    /// A name from the URL or the default gets the extension of the media type if it has none. Names are shortened to
    /// the limit of file systems.
    package static func name(
        contentDisposition: String?, lastPathComponent: String?, mimeType: String?
    ) -> String {
        shortened(wholeName(contentDisposition, lastPathComponent, mimeType))
    }

    /// `NAME_MAX` of Linux, in bytes.
    private static let longest = 255
    /// A longer suffix does not count as an extension.
    private static let longestExtension = 32

    private static func wholeName(
        _ contentDisposition: String?, _ lastPathComponent: String?, _ mimeType: String?
    ) -> String {
        if let contentDisposition, let name = ContentDisposition.filename(in: contentDisposition) { return name }
        var name = "Unknown"
        // `URL` returns "/" as the last component of the root.
        if let last = lastPathComponent, last != "/", let safe = ContentDisposition.safeName(last) { name = safe }
        if FileExtensions.fileExtension(ofName: name) != nil { return name }
        guard let mimeType, let fileExtension = FileExtensions.fileExtension(forMimeType: mimeType) else { return name }
        return name + "." + fileExtension
    }

    /// Truncates before the extension, between characters, or within a character that alone exceeds the limit.
    private static func shortened(_ name: String) -> String {
        if name.utf8.count <= longest { return name }
        var ending = ""
        if let found = FileExtensions.fileExtension(ofName: name), found.utf8.count <= longestExtension {
            ending = "." + found
        }
        let limit = longest - ending.utf8.count
        let stem = name.dropLast(ending.count)
        var count = 0
        let start = stem.prefix { character in
            count += String(character).utf8.count
            return count <= limit
        }
        if !start.isEmpty {
            var name = String(start) + ending
            // Truncation may expose a trailing space or dot.
            while let last = name.unicodeScalars.last, last == " " || last == "." { name.unicodeScalars.removeLast() }
            return name
        }
        count = 0
        let scalars = stem.unicodeScalars.prefix { scalar in
            count += UTF8.width(scalar)
            return count <= limit
        }
        return String(scalars) + ending
    }
}
