/// The name under which a response's body would be saved.
package enum SuggestedFilename {
    /// `Content-Disposition`, else the last path component of the URL, else "Unknown" (MISC-12).
    ///
    /// A name that comes from the URL, or from nowhere, gets the extension of the media type if it has none. None is longer
    /// than a file system takes.
    package static func name(
        contentDisposition: String?, lastPathComponent: String?, mimeType: String?
    ) -> String {
        shortened(wholeName(contentDisposition, lastPathComponent, mimeType))
    }

    /// `NAME_MAX` of Linux, in bytes.
    private static let longest = 255
    /// What is longer behind the last dot is no extension.
    private static let longestExtension = 32

    private static func wholeName(
        _ contentDisposition: String?, _ lastPathComponent: String?, _ mimeType: String?
    ) -> String {
        if let contentDisposition, let name = ContentDisposition.filename(in: contentDisposition) { return name }
        var name = "Unknown"
        // URL gives "/" as the last component of a root.
        if let last = lastPathComponent, last != "/", let safe = ContentDisposition.safeName(last) { name = safe }
        if FileExtensions.fileExtension(ofName: name) != nil { return name }
        guard let mimeType, let fileExtension = FileExtensions.fileExtension(forMimeType: mimeType) else { return name }
        return name + "." + fileExtension
    }

    /// Cut between two characters, or within one that is longer than any, before the extension.
    private static func shortened(_ name: String) -> String {
        if name.utf8.count <= longest { return name }
        var ending = ""
        if let found = FileExtensions.fileExtension(ofName: name), found.utf8.count <= longestExtension {
            ending = "." + found
        }
        let room = longest - ending.utf8.count
        let stem = name.dropLast(ending.count)
        var count = 0
        let start = stem.prefix { character in
            count += String(character).utf8.count
            return count <= room
        }
        if !start.isEmpty {
            var name = String(start) + ending
            // The cut may leave one at the end that was none before.
            while let last = name.unicodeScalars.last, last == " " || last == "." { name.unicodeScalars.removeLast() }
            return name
        }
        count = 0
        let scalars = stem.unicodeScalars.prefix { scalar in
            count += UTF8.width(scalar)
            return count <= room
        }
        return String(scalars) + ending
    }
}
