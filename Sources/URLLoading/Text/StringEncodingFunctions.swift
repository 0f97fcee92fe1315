internal import CLoadingFoundation
public import Foundation

// The functions of Core Foundation that turn `URLResponse.textEncodingName` into a `String.Encoding`. Foundation on
// Linux has them without declaring them.

/// Core Foundation's number of a text encoding.
public typealias CFStringEncoding = UInt32

/// The number that is no text encoding.
@_disfavoredOverload
public let kCFStringEncodingInvalidId: CFStringEncoding = 0xFFFF_FFFF

/// The text encoding with an IANA name, as ``URLResponse/textEncodingName`` has one; ``kCFStringEncodingInvalidId`` if
/// there is none.
@_disfavoredOverload
public func CFStringConvertIANACharSetNameToEncoding(_ theString: CFString?) -> CFStringEncoding {
    guard let theString else { return kCFStringEncodingInvalidId }
    return clf_string_encoding(Unmanaged.passUnretained(theString).toOpaque())
}

/// The raw value of the `String.Encoding` with the number of a text encoding.
@_disfavoredOverload
public func CFStringConvertEncodingToNSStringEncoding(_ encoding: CFStringEncoding) -> UInt {
    UInt(clf_foundation_encoding(encoding))
}
