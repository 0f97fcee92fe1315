/// The name under which a response's body would be saved.
package enum SuggestedFilename {
    /// `Content-Disposition`, else the last path component of the URL, else "Unknown" (MISC-12).
    ///
    /// A name that comes from the URL, or from nowhere, gets the extension of the media type if it has none.
    package static func name(
        contentDisposition: String?, lastPathComponent: String?, mimeType: String?
    ) -> String {
        if let contentDisposition, let name = ContentDisposition.filename(in: contentDisposition) { return name }
        var name = "Unknown"
        // URL gives "/" as the last component of a root.
        if let last = lastPathComponent, last != "/", let safe = ContentDisposition.safeName(last) { name = safe }
        if FileExtensions.fileExtension(ofName: name) != nil { return name }
        guard let mimeType, let fileExtension = FileExtensions.fileExtension(forMimeType: mimeType) else { return name }
        return name + "." + fileExtension
    }
}
