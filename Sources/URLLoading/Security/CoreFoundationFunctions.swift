public import Foundation

// The functions of Core Foundation that code for Apple platforms calls on what this module returns: the error of
// `SecTrustEvaluateWithError`, the chain of a `SecTrust`, the certificates in it, and their bytes. Results are
// implicitly unwrapped as there, because code such as `CFErrorCopyDescription(error) as String` relies on that.

/// Whether two objects are equal, as `isEqual` of `NSObject` says.
@_disfavoredOverload
public func CFEqual(_ cf1: CFTypeRef?, _ cf2: CFTypeRef?) -> Bool {
    guard let first = cf1 as? NSObject, let second = cf2 as? NSObject else { return cf1 === cf2 }
    return first.isEqual(second)
}

/// The number of elements of an array.
@_disfavoredOverload
public func CFArrayGetCount(_ theArray: CFArray?) -> CFIndex { theArray?.count ?? 0 }

/// The number of bytes.
@_disfavoredOverload
public func CFDataGetLength(_ theData: CFData?) -> CFIndex { theData?.length ?? 0 }

/// The bytes, which are valid as long as the object; nil without an object.
@_disfavoredOverload
public func CFDataGetBytePtr(_ theData: CFData?) -> UnsafePointer<UInt8>! {
    theData?.bytes.assumingMemoryBound(to: UInt8.self)
}

/// The code of an error.
@_disfavoredOverload
public func CFErrorGetCode(_ err: CFError?) -> CFIndex { err?.code ?? 0 }

/// The domain of an error.
@_disfavoredOverload
public func CFErrorGetDomain(_ err: CFError?) -> CFString! { err.map { $0.domain as NSString } }

/// The description of an error, for the user.
@_disfavoredOverload
public func CFErrorCopyDescription(_ err: CFError?) -> CFString! { err.map { $0.localizedDescription as NSString } }

/// The reason of an error, or nil.
@_disfavoredOverload
public func CFErrorCopyFailureReason(_ err: CFError?) -> CFString! {
    err?.localizedFailureReason.map { $0 as NSString }
}

/// The user info of an error.
@_disfavoredOverload
public func CFErrorCopyUserInfo(_ err: CFError?) -> CFDictionary! { err.map { $0.userInfo as NSDictionary } }
