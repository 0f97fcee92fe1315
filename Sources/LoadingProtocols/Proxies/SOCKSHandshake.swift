package import LoadingSemantics

/// What is said to a SOCKS proxy until the connection through it is there (PROXY-5): SOCKS5 (RFC 1928, RFC 1929) and
/// SOCKS4 with its extension 4a. A value without socket and clock.
///
/// The caller's loop: `start`, then with each read `next` until it gives nil; when the proxy ends the connection,
/// `connectionEnded`. What is left of the input after `.open` comes from behind the proxy.
package struct SOCKSHandshake: Sendable {
    package enum Action: Sendable, Equatable {
        case send([UInt8])
        /// The connection is there; nothing more is said.
        case open
        case fail(SOCKSFailure)
    }

    private enum State: Equatable {
        case idle
        /// SOCKS5: the authentication method.
        case method
        case password
        case reply5
        case reply4
        case over
    }

    private enum Method {
        static let none: UInt8 = 0
        static let password: UInt8 = 2
        static let notAcceptable: UInt8 = 0xFF
    }

    private enum AddressType {
        static let ipv4: UInt8 = 1
        static let name: UInt8 = 3
        static let ipv6: UInt8 = 4
    }

    private let destination: ProxyDestination
    private let credential: ProxyCredential?
    private let isVersion5: Bool
    private var state = State.idle
    /// The reply that is being read: at most 262 bytes.
    private var reply: [UInt8] = []

    /// Nil if the answer is not SOCKS.
    package init?(to destination: ProxyDestination, through server: ProxyServer) {
        guard server.kind.isSOCKS else { return nil }
        self.destination = destination
        credential = server.credential
        isVersion5 = server.kind == .socks5
    }

    /// What is said first on a connection. What the protocol has no room for is found here, before anything is sent.
    package mutating func start() -> Action {
        reply = []
        return isVersion5 ? greet() : request4()
    }

    /// What to do about the bytes at the front of `input`; nil when all of them are used up and more are needed, and
    /// when it is over. No byte is taken that comes after the proxy's last.
    package mutating func next(_ input: inout UnsafeRawBufferPointer) -> Action? {
        switch state {
        case .idle, .over: nil
        case .method: afterMethod(&input)
        case .password: afterPassword(&input)
        case .reply5: afterReply5(&input)
        case .reply4: afterReply4(&input)
        }
    }

    /// The proxy has ended the connection, in whatever way, and all input has been through `next`.
    package mutating func connectionEnded() -> Action? { state == .over ? nil : fail(.connectionLost) }

    // MARK: SOCKS5

    private mutating func greet() -> Action {
        if destination.address == nil, !(1...255).contains(destination.host.utf8.count) {
            return fail(.unencodableHost)
        }
        state = .method
        guard let credential else { return .send([5, 1, Method.none]) }
        if credential.user.utf8.count > 255 || credential.password.utf8.count > 255 {
            return fail(.unencodableCredential)
        }
        return .send([5, 2, Method.none, Method.password])
    }

    private mutating func afterMethod(_ input: inout UnsafeRawBufferPointer) -> Action? {
        guard take(1, from: &input) else { return nil }
        if reply[0] != 5 { return fail(.unsupportedVersion(reply[0])) }
        guard take(2, from: &input) else { return nil }
        let method = reply[1]
        reply = []
        switch (method, credential) {
        case (Method.none, _):
            return request5()
        case (Method.password, let credential?):
            state = .password
            let user = Array(credential.user.utf8)
            let password = Array(credential.password.utf8)
            // Neither is longer than 255 bytes: `greet` has seen to that. One that is empty is said as it is, though
            // RFC 1929 has no such: there are users without a password, and a proxy that takes none says so.
            return .send(
                [1, UInt8(truncatingIfNeeded: user.count)] + user + [UInt8(truncatingIfNeeded: password.count)]
                    + password)
        case (Method.notAcceptable, _):
            return fail(.noAcceptableMethod)
        default:
            return fail(.unsupportedMethod(method))
        }
    }

    private mutating func afterPassword(_ input: inout UnsafeRawBufferPointer) -> Action? {
        // The version before the status is not the one it should be with some proxies, and nothing depends on it.
        guard take(2, from: &input) else { return nil }
        if reply[1] != 0 { return fail(.badCredentials) }
        reply = []
        return request5()
    }

    private mutating func request5() -> Action {
        state = .reply5
        var request: [UInt8] = [5, 1, 0]
        if let address = destination.address {
            request.append(address.count == 4 ? AddressType.ipv4 : AddressType.ipv6)
            request += address
        } else {
            request.append(AddressType.name)
            // 1 to 255: `greet` has seen to that.
            request.append(UInt8(truncatingIfNeeded: destination.host.utf8.count))
            request += destination.host.utf8
        }
        return .send(request + portBytes)
    }

    private mutating func afterReply5(_ input: inout UnsafeRawBufferPointer) -> Action? {
        guard take(1, from: &input) else { return nil }
        if reply[0] != 5 { return fail(.unsupportedVersion(reply[0])) }
        // What follows after a refusal is often missing.
        guard take(2, from: &input) else { return nil }
        if reply[1] != 0 { return fail(.refused5(SOCKSFailure.Refusal5(code: reply[1]))) }
        guard take(5, from: &input) else { return nil }
        let addressLength: Int
        switch reply[3] {
        case AddressType.ipv4: addressLength = 4
        case AddressType.ipv6: addressLength = 16
        case AddressType.name: addressLength = 1 + Int(reply[4])
        default: return fail(.unsupportedAddressType(reply[3]))
        }
        guard take(4 + addressLength + 2, from: &input) else { return nil }
        return open()
    }

    // MARK: SOCKS4

    private mutating func request4() -> Action {
        let user = Array((credential?.user ?? "").utf8)
        if user.count > 255 || user.contains(0) { return fail(.unencodableCredential) }
        var request: [UInt8] = [4, 1] + portBytes
        if let address = destination.address {
            // "0.0.0.x" would say that a name follows.
            if address.count != 4 || address[..<3].allSatisfy({ $0 == 0 }) && address[3] != 0 {
                return fail(.addressNotSupported)
            }
            request += address + user + [0]
        } else {
            let name = Array(destination.host.utf8)
            guard (1...255).contains(name.count), !name.contains(0) else { return fail(.unencodableHost) }
            // SOCKS 4a: an invalid address means that a name follows.
            request += [0, 0, 0, 1] + user + [0] + name + [0]
        }
        state = .reply4
        return .send(request)
    }

    private mutating func afterReply4(_ input: inout UnsafeRawBufferPointer) -> Action? {
        guard take(1, from: &input) else { return nil }
        if reply[0] != 0 { return fail(.unsupportedVersion(reply[0])) }
        guard take(2, from: &input) else { return nil }
        if reply[1] != 90 { return fail(.refused4(SOCKSFailure.Refusal4(code: reply[1]))) }
        return take(8, from: &input) ? open() : nil
    }

    // MARK: Inside

    private var portBytes: [UInt8] {
        [UInt8(truncatingIfNeeded: destination.port >> 8), UInt8(truncatingIfNeeded: destination.port)]
    }

    /// Fills `reply` up to so many bytes; false if there are not enough yet.
    private mutating func take(_ count: Int, from input: inout UnsafeRawBufferPointer) -> Bool {
        let missing = count - reply.count
        guard missing > 0 else { return true }
        let taken = min(missing, input.count)
        reply += input.prefix(taken)
        input.dropPrefix(taken)
        return taken == missing
    }

    private mutating func open() -> Action {
        state = .over
        reply = []
        return .open
    }

    private mutating func fail(_ failure: SOCKSFailure) -> Action {
        state = .over
        reply = []
        return .fail(failure)
    }
}
