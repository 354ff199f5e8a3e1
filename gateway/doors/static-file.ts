/** A file that is the same for every client. It is compressed once, off the event loop, and sent as it is or in gzip. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { negotiateGzip } from './accept-encoding.ts'
import { varyOf, varyWith } from './compression.ts'

export type StaticFile = { readonly contentType: string; readonly plain: Buffer; readonly compressed: Buffer }

export async function makeStaticFile(contentType: string, plain: Buffer): Promise<StaticFile> {
  return { contentType, plain, compressed: await promisify(gzip)(plain) }
}

/** `varyOn`: a further request header on which the answer at this address depends. A browser that has the reply's `etag` gets no body. */
export function sendStaticFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile, varyOn?: string): FastifyReply {
  const { vary } = varyOf(reply)
  const varies = [vary, varyOn].filter((each) => each !== undefined).join(', ')
  reply.type(file.contentType).header('vary', varyWith(varies === '' ? undefined : varies))
  const etag = reply.getHeader('etag')
  if (etag !== undefined && request.headers['if-none-match'] === etag) return reply.code(304).send()
  const isCompressed = negotiateGzip(request.headers['accept-encoding']).encoding === 'gzip'
  return isCompressed ? reply.header('content-encoding', 'gzip').send(file.compressed) : reply.send(file.plain)
}
