public import Foundation

// Core Foundation cannot be imported on Linux. Code for Apple platforms uses its types and casts to them
// (`certificates as CFArray`), so they are aliases of the Foundation classes to which they are bridged there.

/// Core Foundation's array type, an alias of `NSArray`.
public typealias CFArray = NSArray
/// Core Foundation's data type, an alias of `NSData`.
public typealias CFData = NSData
/// Core Foundation's date type, an alias of `NSDate`.
public typealias CFDate = NSDate
/// Core Foundation's dictionary type, an alias of `NSDictionary`.
public typealias CFDictionary = NSDictionary
/// Core Foundation's error type, an alias of `NSError`.
public typealias CFError = NSError
/// Core Foundation's type of any object.
public typealias CFTypeRef = AnyObject
/// Core Foundation's type for counts and indexes.
public typealias CFIndex = Int
/// Core Foundation's type for option flags.
public typealias CFOptionFlags = UInt
/// Seconds since 1 January 2001, 00:00 UTC.
public typealias CFAbsoluteTime = Double

/// Core Foundation's memory allocator. On Linux there is none to choose: pass nil.
public final class CFAllocator: Sendable {
    private init() {}
}

/// The default allocator: nil.
@_disfavoredOverload
public let kCFAllocatorDefault: CFAllocator? = nil
