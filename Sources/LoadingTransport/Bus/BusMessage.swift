/// A value of a D-Bus message; a variant is read as the value in it. Of types that are not needed only the type is
/// kept.
package enum BusValue: Equatable, Sendable {
    case boolean(Bool)
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
        static let boolean = Int32(UInt8(ascii: "b"))
        static let byte = Int32(UInt8(ascii: "y"))
        static let uint16 = Int32(UInt8(ascii: "q"))
        static let int32 = Int32(UInt8(ascii: "i"))
        static let uint32 = Int32(UInt8(ascii: "u"))
        static let text = Int32(UInt8(ascii: "s"))
        static let path = Int32(UInt8(ascii: "o"))
        static let array = Int32(UInt8(ascii: "a"))
        static let variant = Int32(UInt8(ascii: "v"))
        static let invalid: Int32 = 0
    }
}

/// An argument of a call.
package enum BusArgument: Sendable {
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

/// A call of a method. The names and the path are constants, or come from a message that libdbus has
/// checked.
package struct BusCall: Sendable {
    let destination: String
    let path: String
    let interface: String
    let method: String
    var arguments: [BusArgument]
    /// Whether the bus starts the program that has the name, if it does not run.
    var startsDestination: Bool

    package init(
        destination: String, path: String, interface: String, method: String, arguments: [BusArgument] = [],
        startsDestination: Bool = true
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.method = method
        self.arguments = arguments
        self.startsDestination = startsDestination
    }
}

/// A received message.
package struct BusMessage: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case reply(to: UInt32)
        /// With the error's name.
        case error(to: UInt32, name: String)
        case signal
        case call
    }

    package let kind: Kind
    package let sender: String
    package let path: String
    package let interface: String
    package let member: String
    package let values: [BusValue]
}
