import CSimulation
import Foundation

/// The events of a world, as Recording.c has written them.
struct Recording {
    private let octets: Data

    private struct Event: Equatable {
        var time: simulation_time
        var thread: Int32
        var text: Data
        var line: String {
            String(format: "%14.6f  thread %-3d  ", Double(time) / 1e9, thread) + String(decoding: text, as: UTF8.self)
                + "\n"
        }
    }

    /// Nil if the file cannot be read.
    init?(_ file: URL) {
        guard let handle = try? FileHandle(forReadingFrom: file), let head = try? handle.read(upToCount: 8),
            head.count == 8
        else { return nil }
        let used = head.withUnsafeBytes { Int($0.loadUnaligned(as: UInt64.self)) }
        octets = (try? handle.read(upToCount: max(0, used - 8))) ?? Data()
    }

    private func event(at place: inout Int) -> Event? {
        let size = MemoryLayout<simulation_event>.size
        guard place + size <= octets.count else { return nil }
        let head = octets.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: simulation_event.self) }
        place += size
        guard head.length >= 0, place + Int(head.length) <= octets.count else { return nil }
        defer { place += Int(head.length) }
        return Event(time: head.time, thread: head.thread, text: octets.dropFirst(place).prefix(Int(head.length)))
    }

    /// Where this one and another one begin to differ: the last events that both have, and the next ones of each.
    func difference(from other: Recording) -> String {
        var place = 0, otherPlace = 0, count = 0
        var common: [Event] = []
        while true {
            let start = place, otherStart = otherPlace
            let event = event(at: &place)
            if let event, event == other.event(at: &otherPlace) {
                count += 1
                common.append(event)
                if common.count > 10 { common.removeFirst() }
                continue
            }
            return "after \(count) equal events\n" + common.map(\.line).joined()
                + "  the first run:\n" + lines(from: start) + "  the second run:\n" + other.lines(from: otherStart)
        }
    }

    private func lines(from start: Int) -> String {
        var place = start, text = ""
        for _ in 0..<5 {
            guard let event = event(at: &place) else { return text + "    no more is recorded\n" }
            text += event.line
        }
        return text
    }
}
