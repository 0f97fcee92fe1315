internal import BackgroundTransfers
internal import FoundationEssentials
internal import Glibc
internal import LoadingPipeline
internal import LoadingStorage

/// Connects to the service of the place that the environment names, and starts it if necessary: with its own
/// executable, or with the program that is its second argument.
///
///     service-user once [PROGRAM]    says the process id of the service
///     service-user hold [PROGRAM]    the same, and stays connected until it is killed
///     service-user many COUNT        the same that many times, one after the other
///     service-user orphan            the same as once, when its executable was removed
///     service-user knock PATH        connects to a socket, and says whether it was closed
///     service-user serve             is the service
///
/// On standard output: "service PID", or "failed REASON".
@main enum ServiceUser {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        guard let command = words.first else { exit(64) }
        switch command {
        case "serve": GreetingHost.run(ServiceListener.ofSystemd(environment: StorageDirectory.variable))
        case "knock": knock(words.last ?? "")
        case "many": for _ in 0..<(words.last.flatMap { Int($0) } ?? 0) { close(connect(.own)) }
        case "orphan":
            while access(ServiceProgram.executable ?? "", F_OK) == 0 { usleep(1000) }
            close(connect(.own))
        default:
            let descriptor = connect(words.dropFirst().first.map { .installed($0) } ?? .own)
            while command == "hold" { pause() }
            close(descriptor)
        }
    }

    private static func connect(_ program: ServiceProgram) -> Int32 {
        do {
            let descriptor = try ServiceStart.connect(to: ServicePlace(), starting: program)
            say("service \(try greet(descriptor))")
            return descriptor
        } catch {
            say("failed \(error)")
            exit(1)
        }
    }

    private static func knock(_ path: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result != 0 { return say("connect: \(errno)") }
        var byte: UInt8 = 0
        say(read(descriptor, &byte, 1) == 0 ? "closed" : "open")
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        write(STDOUT_FILENO, bytes, bytes.count)
    }

    private struct Ended: Error {}

    /// Returns the process id in the service's reply.
    private static func greet(_ descriptor: Int32) throws -> Int32 {
        var hello = Data()
        MessageFrames.append(
            try TransferMessage(ServiceCommand.hello(ServiceHello(application: nil))).encoded(), to: &hello)
        guard
            hello.withUnsafeBytes({ send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) })
                == hello.count
        else { throw Ended() }
        var frames = MessageFrames()
        while true {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 30_000) == 1 else { throw Ended() }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(descriptor, &bytes, bytes.count)
            guard count > 0 else { throw Ended() }
            bytes.withUnsafeBytes { frames.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            if let content = try frames.next() {
                guard case .welcome(let welcome) = try TransferMessage<ServiceNotice>(decoding: content).content else {
                    throw Ended()
                }
                return welcome.process
            }
        }
    }
}
