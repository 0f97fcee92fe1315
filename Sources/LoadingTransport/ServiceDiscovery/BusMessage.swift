/// A value of a D-Bus message. Of what Avahi never sends only the type is kept.
enum BusValue: Equatable, Sendable {
    case int32(Int32)
    case uint16(UInt16)
    case uint32(UInt32)
    case text(String)
    case path(String)
    case bytes([UInt8])
    case array([BusValue])
    case other(type: UInt8)

    /// The types of the D-Bus Specification, "Type System".
    enum Code {
        static let byte = Int32(UInt8(ascii: "y"))
        static let uint16 = Int32(UInt8(ascii: "q"))
        static let int32 = Int32(UInt8(ascii: "i"))
        static let uint32 = Int32(UInt8(ascii: "u"))
        static let text = Int32(UInt8(ascii: "s"))
        static let path = Int32(UInt8(ascii: "o"))
        static let array = Int32(UInt8(ascii: "a"))
        static let invalid: Int32 = 0
    }
}

/// An argument of a call.
enum BusArgument: Sendable {
    case int32(Int32)
    case uint16(UInt16)
    case uint32(UInt32)
    case text(String)
    /// The signature `aay`.
    case byteArrays([[UInt8]])

    /// Whether libdbus can send it. It ends the process for a text that is not valid, and would cut it at a NUL.
    var isValid: Bool {
        switch self {
        case .int32, .uint16, .uint32: true
        case .text(let text): !text.utf8.contains(0)
        case .byteArrays(let arrays): arrays.reduce(0) { $0 + $1.count } <= 65_535
        }
    }
}

/// A call of a method. The names and the path are constants of this module, or come from a message that libdbus has
/// checked.
struct BusCall: Sendable {
    let destination: String
    let path: String
    let interface: String
    let method: String
    var arguments: [BusArgument] = []
}

/// A received message.
struct BusMessage: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case reply(to: UInt32)
        /// With the error's name.
        case error(to: UInt32, name: String)
        case signal
        case call
    }

    let kind: Kind
    let sender: String
    let path: String
    let interface: String
    let member: String
    let values: [BusValue]
}
