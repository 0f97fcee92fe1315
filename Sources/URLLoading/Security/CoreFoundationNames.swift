public import Foundation

// Core Foundation cannot be imported on Linux. Code written for Apple's platforms names its types and casts to them
// (`certificates as CFArray`), so they are other names of the Foundation classes they are bridged to there.

/// An array, as Core Foundation names it.
public typealias CFArray = NSArray
/// Bytes, as Core Foundation names them.
public typealias CFData = NSData
/// A date, as Core Foundation names it.
public typealias CFDate = NSDate
/// A dictionary, as Core Foundation names it.
public typealias CFDictionary = NSDictionary
/// An error, as Core Foundation names it.
public typealias CFError = NSError
/// Any object, as Core Foundation names it.
public typealias CFTypeRef = AnyObject
/// A count or an index, as Core Foundation names it.
public typealias CFIndex = Int
/// Flags, as Core Foundation names them.
public typealias CFOptionFlags = UInt
/// Seconds since the beginning of 2001, as Core Foundation names them.
public typealias CFAbsoluteTime = Double

/// What allocates memory in Core Foundation. There is none to choose on Linux: pass nil.
public final class CFAllocator: Sendable {
    private init() {}
}

/// The usual allocator.
public let kCFAllocatorDefault: CFAllocator? = nil
