internal import CLoadingDBus
internal import CLoadingLinux
internal import Glibc

/// A connection to a message bus, through libdbus, used by one thread.
///
/// It is driven by `poll`: nothing blocks but the connection to the bus's socket.
final class BusConnection {
    private let dbus: cld_functions
    private let connection: OpaquePointer
    private let watches: Watches

    /// The descriptors and events that libdbus needs polled.
    private final class Watches {
        var list: [OpaquePointer] = []
    }

    /// Bytes. Decision: the largest message of Avahi has a TXT record of 64 KiB; a longer message ends the connection.
    static let longestMessage = 256 << 10
    /// Values of a message, in all of its arrays. Decision: as many as the strings of the longest TXT record.
    static let mostValues = 65_535

    /// Levels of arrays and variants. Decision: Avahi nests two at most.
    private static let mostLevels = 2

    private static let readable: UInt32 = 1
    private static let writable: UInt32 = 2
    private static let failed: UInt32 = 4
    private static let hungUp: UInt32 = 8

    init(address: String) throws(BusFailure) {
        guard let functions = cld_load() else { throw .libraryMissing(String(cString: cld_library_name)) }
        dbus = functions.pointee
        watches = Watches()
        guard !address.utf8.contains(0), let connection = dbus.connection_open_private(address, nil) else {
            throw .busMissing(address: address)
        }
        self.connection = connection
        // Else libdbus ends the process when the bus goes away.
        dbus.connection_set_exit_on_disconnect(connection, 0)
        dbus.connection_set_max_message_size(connection, Self.longestMessage)
        let isWatched = dbus.connection_set_watch_functions(
            connection,
            { watch, context in
                guard let context else { return 0 }
                Unmanaged<Watches>.fromOpaque(context).takeUnretainedValue().list.append(watch)
                return 1
            },
            { watch, context in
                guard let context else { return }
                Unmanaged<Watches>.fromOpaque(context).takeUnretainedValue().list.removeAll { $0 == watch }
            }, nil, Unmanaged.passUnretained(watches).toOpaque(), nil)
        if isWatched == 0 {
            close()
            throw .noResources
        }
    }

    /// Must be called once, at last.
    func close() {
        _ = dbus.connection_set_watch_functions(connection, nil, nil, nil, nil, nil)
        dbus.connection_close(connection)
        dbus.connection_unref(connection)
    }

    var isConnected: Bool { dbus.connection_get_is_connected(connection) != 0 }

    // MARK: Polling

    /// What to poll.
    func pollEntries() -> [pollfd] {
        watches.list.filter { dbus.watch_get_enabled($0) != 0 }.map { watch in
            let flags = dbus.watch_get_flags(watch)
            let events = (flags & Self.readable != 0 ? POLLIN : 0) | (flags & Self.writable != 0 ? POLLOUT : 0)
            return pollfd(fd: dbus.watch_get_unix_fd(watch), events: Int16(events), revents: 0)
        }
    }

    /// Reads and writes, after `poll` has filled in the entries.
    func handle(_ entries: [pollfd]) {
        // Handling one watch may remove another, so each is looked up.
        for watch in watches.list where watches.list.contains(watch) && dbus.watch_get_enabled(watch) != 0 {
            let flags = dbus.watch_get_flags(watch)
            let descriptor = dbus.watch_get_unix_fd(watch)
            let seen = entries.filter { $0.fd == descriptor }.reduce(Int16(0)) { $0 | $1.revents }
            var found: UInt32 = 0
            if seen & Int16(POLLIN) != 0 { found |= flags & Self.readable }
            if seen & Int16(POLLOUT) != 0 { found |= flags & Self.writable }
            if seen & Int16(POLLERR | POLLNVAL) != 0 { found |= Self.failed }
            if seen & Int16(POLLHUP) != 0 { found |= Self.hungUp }
            if found != 0 { _ = dbus.watch_handle(watch, found) }
        }
    }

    // MARK: Sending

    /// Queues a call. Returns the serial number of its reply.
    func send(_ call: BusCall) throws(BusFailure) -> UInt32 {
        guard call.arguments.allSatisfy(\.isValid) else { throw .invalidArgument }
        guard
            let message = dbus.message_new_method_call(call.destination, call.path, call.interface, call.method)
        else { throw .noResources }
        defer { dbus.message_unref(message) }
        if !call.startsDestination { dbus.message_set_auto_start(message, 0) }
        var iterator = cld_iterator()
        dbus.message_iter_init_append(message, &iterator)
        for argument in call.arguments {
            guard append(argument, to: &iterator) else { throw .noResources }
        }
        var serial: UInt32 = 0
        guard dbus.connection_send(connection, message, &serial) != 0 else { throw .noResources }
        return serial
    }

    private func append(_ argument: BusArgument, to iterator: inout cld_iterator) -> Bool {
        switch argument {
        case .int32(var value): return dbus.message_iter_append_basic(&iterator, BusValue.Code.int32, &value) != 0
        case .uint16(var value): return dbus.message_iter_append_basic(&iterator, BusValue.Code.uint16, &value) != 0
        case .uint32(var value): return dbus.message_iter_append_basic(&iterator, BusValue.Code.uint32, &value) != 0
        case .text(let text):
            return text.withCString { pointer in
                var pointer: UnsafePointer<CChar>? = pointer
                return dbus.message_iter_append_basic(&iterator, BusValue.Code.text, &pointer) != 0
            }
        case .byteArrays(let arrays):
            var outer = cld_iterator()
            guard dbus.message_iter_open_container(&iterator, BusValue.Code.array, "ay", &outer) != 0 else {
                return false
            }
            for array in arrays {
                var inner = cld_iterator()
                guard dbus.message_iter_open_container(&outer, BusValue.Code.array, "y", &inner) != 0 else {
                    return false
                }
                let isAppended = array.withUnsafeBufferPointer { bytes in
                    guard let start = bytes.baseAddress, !bytes.isEmpty else { return true }
                    var pointer: UnsafePointer<UInt8>? = start
                    return dbus.message_iter_append_fixed_array(
                        &inner, BusValue.Code.byte, &pointer, Int32(clamping: bytes.count)) != 0
                }
                guard isAppended, dbus.message_iter_close_container(&outer, &inner) != 0 else { return false }
            }
            return dbus.message_iter_close_container(&iterator, &outer) != 0
        }
    }

    // MARK: Receiving

    /// The next received message.
    func nextMessage() -> BusMessage? {
        while let message = dbus.connection_pop_message(connection) {
            defer { dbus.message_unref(message) }
            if let read = read(message) { return read }
        }
        return nil
    }

    /// Returns nil for a message of a kind that is not known. libdbus has checked that the message is well-formed.
    private func read(_ message: OpaquePointer) -> BusMessage? {
        let kind: BusMessage.Kind
        switch dbus.message_get_type(message) {
        case 1: kind = .call
        case 2: kind = .reply(to: dbus.message_get_reply_serial(message))
        case 3:
            kind = .error(
                to: dbus.message_get_reply_serial(message), name: text(dbus.message_get_error_name(message)))
        case 4: kind = .signal
        default: return nil
        }
        var iterator = cld_iterator()
        var values: [BusValue] = []
        if dbus.message_iter_init(message, &iterator) != 0 {
            var left = Self.mostValues
            values = readValues(&iterator, depth: 0, left: &left)
        }
        return BusMessage(
            kind: kind, sender: text(dbus.message_get_sender(message)), path: text(dbus.message_get_path(message)),
            interface: text(dbus.message_get_interface(message)), member: text(dbus.message_get_member(message)),
            values: values)
    }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    private func readValues(_ iterator: inout cld_iterator, depth: Int, left: inout Int) -> [BusValue] {
        var values: [BusValue] = []
        while true {
            let type = dbus.message_iter_get_arg_type(&iterator)
            if type == BusValue.Code.invalid || left == 0 { return values }
            left -= 1
            values.append(readValue(&iterator, type, depth: depth, left: &left))
            if dbus.message_iter_next(&iterator) == 0 { return values }
        }
    }

    private func readValue(_ iterator: inout cld_iterator, _ type: Int32, depth: Int, left: inout Int) -> BusValue {
        switch type {
        case BusValue.Code.int32:
            var value: Int32 = 0
            dbus.message_iter_get_basic(&iterator, &value)
            return .int32(value)
        case BusValue.Code.uint32:
            var value: UInt32 = 0
            dbus.message_iter_get_basic(&iterator, &value)
            return .uint32(value)
        case BusValue.Code.boolean:
            var value: UInt32 = 0
            dbus.message_iter_get_basic(&iterator, &value)
            return .boolean(value != 0)
        case BusValue.Code.uint16:
            var value: UInt16 = 0
            dbus.message_iter_get_basic(&iterator, &value)
            return .uint16(value)
        case BusValue.Code.text, BusValue.Code.path:
            var pointer: UnsafePointer<CChar>?
            dbus.message_iter_get_basic(&iterator, &pointer)
            return type == BusValue.Code.text ? .text(text(pointer)) : .path(text(pointer))
        case BusValue.Code.array where dbus.message_iter_get_element_type(&iterator) == BusValue.Code.byte:
            var inner = cld_iterator()
            dbus.message_iter_recurse(&iterator, &inner)
            var start: UnsafeRawPointer?
            var count: Int32 = 0
            // An empty array has no element to point to, and libdbus leaves both as they are in some versions.
            if dbus.message_iter_get_arg_type(&inner) != BusValue.Code.invalid {
                dbus.message_iter_get_fixed_array(&inner, &start, &count)
            }
            return .bytes(Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(max(count, 0)))))
        case BusValue.Code.variant where depth < Self.mostLevels:
            var inner = cld_iterator()
            dbus.message_iter_recurse(&iterator, &inner)
            return readValue(&inner, dbus.message_iter_get_arg_type(&inner), depth: depth + 1, left: &left)
        case BusValue.Code.array where depth < Self.mostLevels:
            var inner = cld_iterator()
            dbus.message_iter_recurse(&iterator, &inner)
            return .array(readValues(&inner, depth: depth + 1, left: &left))
        default:
            return .other(type: UInt8(truncatingIfNeeded: type))
        }
    }
}

/// A connection, or why there is none, on its way from the thread that has opened it, which does not use it afterwards.
struct OpenedBus: @unchecked Sendable {
    // Sendable because one thread at a time has it.

    let result: Result<BusConnection, BusFailure>

    /// Waits while the bus has no room for another client.
    init(address: String) {
        do throws(BusFailure) {
            result = .success(try BusConnection(address: address))
        } catch {
            result = .failure(error)
        }
    }

    /// For a connection that nothing uses.
    func close() { if case .success(let connection) = result { connection.close() } }
}

/// Why a message bus, or a program on it, did not complete a request.
package enum BusFailure: Error, Hashable, Sendable {
    /// libdbus is not installed. With the name of its file.
    case libraryMissing(String)
    /// No bus listens there; nil if the environment allows none that may be used.
    case busMissing(address: String?)
    /// The bus has ended the connection, or there is no reply.
    case connectionLost
    /// The bus or the program refused a call. With the name of the error.
    case refused(String)
    /// A text that D-Bus cannot carry.
    case invalidArgument
    /// The process has no descriptor, no thread or no memory left.
    case noResources
}
