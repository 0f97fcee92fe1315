/// The nine octets before each frame's payload (RFC 9113 §4.1).
struct HTTP2FrameHead: Equatable {
    static let length = 9

    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let settings: UInt8 = 4
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9

    static let endsStream: UInt8 = 0x1
    static let endsHeaders: UInt8 = 0x4

    var payloadLength: Int
    var type: UInt8
    var flags: UInt8
    var stream: Int32

    /// Reads the first nine of `octets`, which has so many.
    init(_ octets: UnsafeRawBufferPointer) {
        payloadLength = Int(octets[0]) &<< 16 | Int(octets[1]) &<< 8 | Int(octets[2])
        type = octets[3]
        flags = octets[4]
        let number = UInt32(bigEndian: octets.loadUnaligned(fromByteOffset: 5, as: UInt32.self))
        stream = Int32(number & 0x7FFF_FFFF)
    }

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}
