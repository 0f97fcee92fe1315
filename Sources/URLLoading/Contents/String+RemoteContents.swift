internal import Foundation

/// Replaces `String.init(contentsOf:usedEncoding:)`; `replacements.S` of `CLoadingFoundation` has that symbol.
///
/// A file is read as Foundation reads it. Other URLs are loaded, and the response says the encoding.
@_silgen_name("url_loading_string_contents")
@usableFromInline
func stringContents(of url: __shared URL, usedEncoding: inout String.Encoding) throws -> String {
    guard !url.isFileURL else {
        do {
            return try String(contentsOfFile: url.path, usedEncoding: &usedEncoding)
        } catch let error as CocoaError {
            // Foundation's names what the caller has given too.
            throw CocoaError(error.code, userInfo: error.userInfo.merging([NSURLErrorKey: url]) { $1 })
        }
    }
    var encoding: UInt = 0
    let text = try NSString(contentsOf: url, usedEncoding: &encoding)
    usedEncoding = String.Encoding(rawValue: encoding)
    return text.substring(from: 0)
}
