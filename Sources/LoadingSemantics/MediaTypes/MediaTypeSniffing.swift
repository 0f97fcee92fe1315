/// Determines the media type of a response without `Content-Type` (MISC-11).
package enum MediaTypeSniffing {
    /// The number of body bytes that are examined.
    package static let length = 512

    /// The media type by `Content-Type`, else by the URL's extension, else by the first bytes.
    ///
    /// - Parameters:
    ///   - contentType: The value of `Content-Type`, or nil if it is absent. If present, nothing is guessed.
    ///   - contentTypeOptions: The value of `X-Content-Type-Options`; `nosniff` forbids examining the bytes.
    ///   - pathExtension: The extension of the URL's last path component.
    ///   - start: The first bytes of the body that have arrived. Delivery does not wait for more.
    package static func mediaType(
        contentType: String?, contentTypeOptions: String?, pathExtension: String?, start: [UInt8]
    ) -> MediaType? {
        if let contentType { return MediaType(contentType: contentType) }
        if let guess = guess(ofExtension: pathExtension) { return MediaType(mimeType: guess) }
        if forbidsSniffing(contentTypeOptions) { return nil }
        return sniff(start.prefix(length)).map { MediaType(mimeType: $0) }
    }

    /// Whether the media type depends on the first bytes of the body.
    package static func needsStart(
        hasContentType: Bool, contentTypeOptions: String?, pathExtension: String?
    ) -> Bool {
        !hasContentType && guess(ofExtension: pathExtension) == nil && !forbidsSniffing(contentTypeOptions)
    }

    private static func guess(ofExtension pathExtension: String?) -> String? {
        pathExtension.flatMap { FileExtensions.mimeType(ofExtension: $0) }
    }

    private static func forbidsSniffing(_ contentTypeOptions: String?) -> Bool {
        let options = contentTypeOptions?.utf8.split { $0 == UInt8(ascii: ",") || $0 == 0x20 } ?? []
        return options.contains { $0.map(asciiLowercase).elementsEqual("nosniff".utf8) }
    }

    /// The type of the first bytes; nil if there are none.
    static func sniff(_ start: ArraySlice<UInt8>) -> String? {
        if start.isEmpty { return nil }
        for (signature, mimeType) in signatures where start.starts(with: signature) { return mimeType }
        if let container = sniffContainer(start) { return container }
        let text = start.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        if text.starts(with: "<?xml".utf8) { return "application/xml" }
        for tag in htmlTags where isTag(tag, at: text) { return "text/html" }
        return start.contains(where: isBinary) ? "application/octet-stream" : "text/plain"
    }

    private static let signatures: [([UInt8], String)] = [
        (Array("%PDF-".utf8), "application/pdf"), (Array("%!PS-Adobe-".utf8), "application/postscript"),
        ([0xEF, 0xBB, 0xBF], "text/plain"), ([0xFE, 0xFF], "text/plain"), ([0xFF, 0xFE], "text/plain"),
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"), ([0xFF, 0xD8, 0xFF], "image/jpeg"),
        (Array("GIF87a".utf8), "image/gif"), (Array("GIF89a".utf8), "image/gif"), (Array("BM".utf8), "image/bmp"),
        ([0, 0, 1, 0], "image/vnd.microsoft.icon"), (Array("ID3".utf8), "audio/mpeg"),
        (Array("fLaC".utf8), "audio/flac"), (Array("OggS".utf8) + [0], "application/ogg"),
        ([0x1A, 0x45, 0xDF, 0xA3], "video/webm"), ([0x1F, 0x8B, 0x08], "application/gzip"),
        ([0x50, 0x4B, 0x03, 0x04], "application/zip"), (Array("wOFF".utf8), "font/woff"),
        (Array("wOF2".utf8), "font/woff2"), ([0, 0x61, 0x73, 0x6D], "application/wasm"),
        ([0x28, 0xB5, 0x2F, 0xFD], "application/zstd"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], "application/x-xz"),
    ]

    /// Formats with a type code after a length: RIFF and ISO base media.
    private static func sniffContainer(_ start: ArraySlice<UInt8>) -> String? {
        let brand = start.dropFirst(8)
        if start.starts(with: "RIFF".utf8) {
            if brand.starts(with: "WEBP".utf8) { return "image/webp" }
            if brand.starts(with: "WAVE".utf8) { return "audio/wav" }
            if brand.starts(with: "AVI ".utf8) { return "video/x-msvideo" }
        }
        guard start.dropFirst(4).starts(with: "ftyp".utf8) else { return nil }
        if brand.starts(with: "avif".utf8) { return "image/avif" }
        if brand.starts(with: "heic".utf8) { return "image/heic" }
        if brand.starts(with: "M4A ".utf8) { return "audio/mp4" }
        if brand.starts(with: "qt  ".utf8) { return "video/quicktime" }
        return "video/mp4"
    }

    private static let htmlTags = [
        "<!doctype html", "<html", "<head", "<body", "<script", "<iframe", "<title", "<style", "<table", "<div",
        "<h1", "<p", "<a", "<br", "<!--",
    ]

    /// Whether a tag starts there: case-insensitively, followed by a space or ">". A comment needs no terminator.
    private static func isTag(_ tag: String, at text: ArraySlice<UInt8>) -> Bool {
        guard text.prefix(tag.utf8.count).map(asciiLowercase).elementsEqual(tag.utf8) else { return false }
        if tag == "<!--" { return true }
        guard let next = text.dropFirst(tag.utf8.count).first else { return false }
        return next == 0x20 || next == UInt8(ascii: ">")
    }

    private static func isBinary(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x0A, 0x0C, 0x0D, 0x1B: false
        default: byte < 0x20
        }
    }
}
