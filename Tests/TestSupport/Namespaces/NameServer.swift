internal import Foundation
package import Testing

/// The DNS server of a `NetworkNamespace`, on the address that the system's resolver uses. Loopback must be up.
///
///     let names = try NameServer { question in question.type == .ipv4 ? .address([127, 0, 0, 1]) : .nothing }
///     defer { names.stop() }
package final class NameServer: Sendable {
    package enum QuestionType: UInt16, Sendable {
        case ipv4 = 1
        case ipv6 = 28
        case https = 65
    }

    package struct Question: Sendable, Hashable {
        package let name: String
        package let type: QuestionType

        package init(_ name: String, _ type: QuestionType) {
            self.name = name
            self.type = type
        }
    }

    package enum Answer: Sendable {
        /// An address: four or sixteen bytes.
        case address([UInt8])
        /// Record data of the requested type, with a TTL in seconds.
        case records([[UInt8]], lifetime: UInt8)
        /// NODATA: the name exists without records of this type.
        case nothing
        case noSuchName
        case failure
        case silence
    }

    private let asked: Watched<[Question]>
    private let descriptor: Int32
    private let stopSwitch: StopSwitch
    private let thread: JoinableThread

    /// The queries in order. The resolver may repeat queries.
    package var questions: [Question] { asked.current }

    /// The address that the system's resolver queries, if it uses DNS directly.
    private static let address: in_addr? = {
        let hosts = lines(of: "/etc/nsswitch.conf").first { $0.hasPrefix("hosts:") } ?? "hosts: dns"
        guard hosts.contains("dns"), !hosts.contains("resolve") else { return nil }
        let servers = lines(of: "/etc/resolv.conf").filter { $0.hasPrefix("nameserver") }
            .compactMap { $0.split(whereSeparator: \.isWhitespace).last }
        var address = in_addr()
        guard let first = servers.first, inet_pton(AF_INET, String(first), &address) == 1 else { return nil }
        return address
    }()

    /// Whether a name server can be used.
    package static var isAvailable: Bool { address != nil }

    private static func lines(of path: String) -> [String] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    package init(answering answer: @escaping @Sendable (Question) -> Answer) throws {
        let stopSwitch = try StopSwitch()
        let own = Self.address ?? in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        if UInt32(bigEndian: own.s_addr) >> 24 != 127 {
            try NetworkNamespace.ip("address", "replace", "\(String(cString: inet_ntoa(own)))/32", "dev", "lo")
        }
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(53).bigEndian
        address.sin_addr = own
        let isBound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else {
            let failure = POSIXFailure("bind")
            close(descriptor)
            throw failure
        }
        let asked = Watched<[Question]>([])
        self.descriptor = descriptor
        self.stopSwitch = stopSwitch
        self.asked = asked
        thread = try JoinableThread(name: "test-names") {
            while Self.waitForQuestion(on: descriptor, stopSwitch) { Self.answerOne(on: descriptor, asked, answer) }
        }
    }

    /// Stops the server. Must be called once, and not from within `answer`.
    package func stop() {
        stopSwitch.stop()
        thread.join()
        close(descriptor)
    }

    /// False after the server was stopped.
    private static func waitForQuestion(on descriptor: Int32, _ stop: StopSwitch) -> Bool {
        var polled = [descriptor, stop.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
        return polled[1].revents == 0
    }

    private static func answerOne(
        on descriptor: Int32, _ asked: Watched<[Question]>, _ answer: (Question) -> Answer
    ) {
        var packet = [UInt8](repeating: 0, count: 512)
        var peer = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &peer) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
                let count = recvfrom(descriptor, &packet, packet.count, 0, peer, &length)
                guard count > 0, let (question, end) = Self.question(in: packet.prefix(count)) else { return }
                asked.withValue { $0.append(question) }
                guard let reply = Self.reply(to: packet.prefix(end), question.type, answer(question)) else { return }
                sendto(descriptor, reply, reply.count, 0, peer, length)
            }
        }
    }

    /// The question of a message, and its end (RFC 1035 §4).
    private static func question(in packet: ArraySlice<UInt8>) -> (Question, Int)? {
        var labels: [String] = []
        var index = 12
        while index < packet.count, packet[index] != 0 {
            let next = index + 1 + Int(packet[index])
            guard next < packet.count else { return nil }
            labels.append(String(decoding: packet[(index + 1)..<next], as: UTF8.self))
            index = next
        }
        guard index + 5 <= packet.count,
            let type = QuestionType(rawValue: UInt16(packet[index + 1]) << 8 | UInt16(packet[index + 2]))
        else { return nil }
        return (Question(labels.joined(separator: "."), type), index + 5)
    }

    private static func reply(to question: ArraySlice<UInt8>, _ type: QuestionType, _ answer: Answer) -> [UInt8]? {
        var records: [[UInt8]] = []
        var lifetime: UInt8 = 60
        var code: UInt8 = 0
        switch answer {
        // An address answers queries of its type only; other types get an empty answer.
        case .address(let bytes): records = bytes.count == (type == .ipv4 ? 4 : 16) && type != .https ? [bytes] : []
        case .records(let data, let time): (records, lifetime) = (data, time)
        case .nothing: break
        case .failure: code = 2
        case .noSuchName: code = 3
        case .silence: return nil
        }
        var reply = Array(question)
        // A response to a recursive query, recursion available.
        reply[2] = 0x81
        reply[3] = 0x80 | code
        reply.replaceSubrange(4..<12, with: [0, 1, 0, UInt8(records.count), 0, 0, 0, 0])
        for data in records {
            // A pointer to the name in the question.
            let length = [UInt8(data.count >> 8), UInt8(data.count & 0xFF)]
            reply += [0xC0, 12, 0, UInt8(type.rawValue), 0, 1, 0, 0, 0, lifetime] + length + data
        }
        return reply
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if the system's resolver does not use DNS directly.
    package static var needsNameServer: Self {
        .enabled(if: NameServer.isAvailable, "the system does not ask for names by DNS")
    }
}
