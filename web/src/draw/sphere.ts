// Tokens on a sphere, a circle or in a ball (more than three dimensions, seen along three axes), drawn by WebGL: one instance of a disc a token, shaded
// like a ball, so that tens of thousands cost one call. Turned by dragging, or a token is dragged along the sphere.
import * as three from 'three';
import {colour, coloursOf, palette} from '../page/dom';

export interface Frame {
  positions: Float64Array;  // tokens x dim
  clusters: Uint32Array;
  dim: number;
}

const vertexShader = `
  attribute vec3 place;
  attribute vec3 tint;
  uniform float size;
  uniform float depthFade;
  varying vec2 at;
  varying vec3 shade;
  varying float fade;
  void main() {
    vec4 centre = modelViewMatrix * vec4(place, 1.0);
    float towards = (modelViewMatrix * vec4(place, 0.0)).z;
    fade = depthFade * clamp(0.5 - 0.9 * towards, 0.0, 0.72);
    at = position.xy;
    shade = tint;
    gl_Position = projectionMatrix * (centre + vec4(position.xy * size, 0.0, 0.0));
  }`;
const fragmentShader = `
  precision mediump float;
  uniform vec3 paper;
  varying vec2 at;
  varying vec3 shade;
  varying float fade;
  void main() {
    float r = dot(at, at);
    if (r > 1.0) discard;
    float height = sqrt(1.0 - r);
    float light = 0.62 + 0.38 * clamp(dot(vec3(at, height), normalize(vec3(-0.4, 0.6, 0.7))), 0.0, 1.0);
    vec3 lit = mix(shade * light + 0.10 * pow(height, 6.0), paper, fade);
    gl_FragColor = vec4(lit, 1.0);
  }`;

/** A colour as the shader writes it: it does not pass through three's conversions. */
const seen = (name: string) => new three.Color(colour(name)).convertLinearToSRGB();

const gridLines = (flat: boolean): Float32Array => {
  const points: number[] = [];
  const ring = (f: (angle: number) => [number, number, number], pieces = 96) => {
    for (let k = 0; k < pieces; ++k) points.push(...f((2 * Math.PI * k) / pieces), ...f((2 * Math.PI * (k + 1)) / pieces));
  };
  if (flat) {
    ring(a => [Math.cos(a), Math.sin(a), 0]);
    return new Float32Array(points);
  }
  for (let k = -2; k <= 2; ++k) {
    const z = Math.sin((k * Math.PI) / 6), r = Math.cos((k * Math.PI) / 6);
    ring(a => [r * Math.cos(a), z, r * Math.sin(a)]);
  }
  for (let k = 0; k < 6; ++k) {
    const c = Math.cos((k * Math.PI) / 6), s = Math.sin((k * Math.PI) / 6);
    ring(a => [c * Math.cos(a), Math.sin(a), s * Math.cos(a)]);
  }
  return new Float32Array(points);
};

export class Sphere {
  readonly canvas: HTMLCanvasElement;
  private renderer: three.WebGLRenderer;
  private scene = new three.Scene();
  private camera = new three.PerspectiveCamera(32, 1, 0.1, 20);
  private turned = new three.Group();
  private tokens: three.Mesh<three.InstancedBufferGeometry, three.ShaderMaterial> | null = null;
  private grid: three.LineSegments | null = null;
  private ball: three.Mesh;
  private capacity = 0;
  private count = 0;
  private flat: boolean | null = null;
  private places = new Float32Array(0);
  private tints = new Float32Array(0);
  private axes: number[] | null = null;
  private frame: Frame | null = null;
  private observer: ResizeObserver;
  private asked = false;
  /** Called with a token and where it was put, when a drag ends. */
  onMove: ((token: number, position: number[]) => void) | null = null;

  constructor(private box: HTMLElement) {
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'Tokens on the sphere; arrow keys turn it, dragging a token moves it');
    box.append(this.canvas);
    this.renderer = new three.WebGLRenderer({canvas: this.canvas, antialias: true, preserveDrawingBuffer: true});
    this.camera.position.z = 4.1;
    this.turned.rotation.set(0.35, -0.5, 0, 'XYZ');
    this.scene.add(this.turned);
    this.ball = new three.Mesh(new three.SphereGeometry(0.985, 48, 32), new three.MeshBasicMaterial({transparent: true, opacity: 0.5, depthWrite: false}));
    this.turned.add(this.ball);
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(box);
    this.recolour();
  }

  dispose() {
    this.observer.disconnect();
    this.renderer.dispose();
    this.tokens?.geometry.dispose();
    this.tokens?.material.dispose();
    this.grid?.geometry.dispose();
    this.ball.geometry.dispose();
    this.renderer.forceContextLoss();
    this.canvas.remove();
  }

  private resize() {
    const width = Math.max(1, this.box.clientWidth), height = Math.max(1, this.box.clientHeight);
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.position.z = width < height ? (4.1 * height) / width : 4.1;
    this.camera.updateProjectionMatrix();
    this.draw();
  }

  recolour() {
    this.renderer.setClearColor(colour('scene'));
    (this.ball.material as three.MeshBasicMaterial).color.set(colour('ball'));
    if (this.grid) (this.grid.material as three.LineBasicMaterial).color.set(colour('grid'));
    this.tokens?.material.uniforms.paper.value.copy(seen('scene'));
    this.draw();
  }

  /** 3 x dim, for more than three dimensions. */
  look(axes: number[] | null) {
    this.axes = axes;
  }

  private shape(dim: number) {
    const flat = dim === 2;
    if (this.flat === flat && this.grid) return;
    this.flat = flat;
    if (this.grid) this.turned.remove(this.grid), this.grid.geometry.dispose();
    const geometry = new three.BufferGeometry();
    geometry.setAttribute('position', new three.BufferAttribute(gridLines(flat), 3));
    this.grid = new three.LineSegments(geometry, new three.LineBasicMaterial({color: colour('grid'), transparent: true, opacity: flat ? 0.9 : 0.35}));
    this.turned.add(this.grid);
    this.ball.visible = !flat;
    if (flat) this.turned.rotation.set(0, 0, 0);
    else this.turned.rotation.set(0.35, -0.5, 0);
  }

  private grow(count: number) {
    if (count <= this.capacity && this.tokens) return;
    this.capacity = Math.max(64, Math.ceil(count * 1.25));
    if (this.tokens) this.turned.remove(this.tokens), this.tokens.geometry.dispose(), this.tokens.material.dispose();
    this.places = new Float32Array(3 * this.capacity);
    this.tints = new Float32Array(3 * this.capacity);
    const geometry = new three.InstancedBufferGeometry();
    geometry.setAttribute('position', new three.BufferAttribute(new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), 3));
    geometry.setIndex([0, 1, 2, 0, 2, 3]);
    geometry.setAttribute('place', new three.InstancedBufferAttribute(this.places, 3).setUsage(three.DynamicDrawUsage));
    geometry.setAttribute('tint', new three.InstancedBufferAttribute(this.tints, 3).setUsage(three.DynamicDrawUsage));
    const material = new three.ShaderMaterial({vertexShader, fragmentShader, uniforms: {size: {value: 0.03}, paper: {value: seen('scene')}, depthFade: {value: 1}}});
    this.tokens = new three.Mesh(geometry, material);
    this.tokens.frustumCulled = false;
    this.turned.add(this.tokens);
  }

  show(frame: Frame) {
    this.frame = frame;
    const {positions, clusters, dim} = frame, count = positions.length / dim;
    this.shape(dim);
    this.grow(count);
    this.count = count;
    const first = new Map<number, number>();
    for (let i = 0; i < count; ++i) if (!first.has(clusters[i])) first.set(clusters[i], i);
    const shade = coloursOf([...first.values()]);
    const shades = palette.map(c => new three.Color(c).convertLinearToSRGB());
    for (let i = 0; i < count; ++i) {
      this.place(i, positions, dim);
      const tint = shades[shade.get(first.get(clusters[i])!)!];
      this.tints[3 * i] = tint.r, this.tints[3 * i + 1] = tint.g, this.tints[3 * i + 2] = tint.b;
    }
    this.tokens!.geometry.instanceCount = count;
    this.tokens!.material.uniforms.size.value = Math.min(0.045, Math.max(0.011, 0.3 / Math.sqrt(count + 20)));
    this.tokens!.material.uniforms.depthFade.value = dim === 2 ? 0 : 1;
    this.update();
  }

  private update() {
    if (!this.tokens) return;
    this.tokens.geometry.attributes.place.needsUpdate = true;
    this.tokens.geometry.attributes.tint.needsUpdate = true;
    this.draw();
  }

  private place(i: number, positions: Float64Array, dim: number) {
    for (let k = 0; k < 3; ++k) {
      let x = 0;
      if (this.axes && dim > 3) for (let c = 0; c < dim; ++c) x += this.axes[k * dim + c] * positions[i * dim + c];
      else x = k < dim ? positions[i * dim + k] : 0;
      this.places[3 * i + k] = x;
    }
  }

  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.renderer.render(this.scene, this.camera);
    });
  }

  turn(right: number, down: number) {
    if (this.flat) return;
    const camera = new three.Quaternion().setFromEuler(new three.Euler(down, right, 0));
    this.turned.quaternion.premultiply(camera);
    this.draw();
  }

  private ray(event: PointerEvent): three.Ray {
    const box = this.canvas.getBoundingClientRect();
    const caster = new three.Raycaster();
    caster.setFromCamera(new three.Vector2((2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height), this.camera);
    return caster.ray;
  }

  /** The token nearest to a point of the screen, within a few pixels; those in front first. */
  private pick(event: PointerEvent): number {
    const box = this.canvas.getBoundingClientRect(), point = new three.Vector3();
    let best = -1, least = 14 * 14, front = -Infinity;
    this.turned.updateMatrixWorld();
    for (let i = 0; i < this.count; ++i) {
      point.set(this.places[3 * i], this.places[3 * i + 1], this.places[3 * i + 2]).applyMatrix4(this.turned.matrixWorld);
      const z = point.z;
      if (!this.flat && z < -0.15) continue;
      point.project(this.camera);
      const dx = ((point.x + 1) / 2) * box.width - (event.clientX - box.left), dy = ((1 - point.y) / 2) * box.height - (event.clientY - box.top);
      const away = dx * dx + dy * dy;
      if (away < least || (away < 60 && z > front)) best = i, least = Math.min(least, away), front = z;
    }
    return best;
  }

  /** Where a token is on the screen, for tests and for the tour. */
  screen(i: number): {x: number; y: number; front: boolean} {
    const box = this.canvas.getBoundingClientRect();
    this.turned.updateMatrixWorld();
    const point = new three.Vector3(this.places[3 * i], this.places[3 * i + 1], this.places[3 * i + 2]).applyMatrix4(this.turned.matrixWorld);
    const front = point.z > 0;
    point.project(this.camera);
    return {x: box.left + ((point.x + 1) / 2) * box.width, y: box.top + ((1 - point.y) / 2) * box.height, front};
  }

  /** Where a ray meets the sphere (the circle: its plane), in the tokens' own coordinates. */
  private onSphere(event: PointerEvent): three.Vector3 | null {
    const ray = this.ray(event), at = new three.Vector3();
    if (this.flat) {
      if (!ray.intersectPlane(new three.Plane(new three.Vector3(0, 0, 1), 0), at)) return null;
    } else if (!ray.intersectSphere(new three.Sphere(new three.Vector3(), 1), at)) {
      ray.closestPointToPoint(new three.Vector3(), at);
    }
    if (at.length() < 1e-6) return null;
    at.normalize();
    return at.applyQuaternion(this.turned.quaternion.clone().invert());
  }

  private listen() {
    let token = -1, last: PointerEvent | null = null;
    this.canvas.style.touchAction = 'none';
    this.canvas.addEventListener('pointerdown', event => {
      this.canvas.setPointerCapture(event.pointerId);
      last = event;
      token = this.frame && this.frame.dim <= 3 ? this.pick(event) : -1;
    });
    this.canvas.addEventListener('pointermove', event => {
      if (!last) {
        this.canvas.style.cursor = this.frame && this.frame.dim <= 3 && this.pick(event) >= 0 ? 'grab' : 'default';
        return;
      }
      if (token >= 0) {
        const at = this.onSphere(event);
        if (at) {
          this.places[3 * token] = at.x, this.places[3 * token + 1] = at.y, this.places[3 * token + 2] = at.z;
          this.update();
        }
      } else {
        this.turn((event.clientX - last.clientX) / 160, (event.clientY - last.clientY) / 160);
      }
      last = event;
    });
    const end = (event: PointerEvent) => {
      if (token >= 0 && last) {
        const at = this.onSphere(event);
        if (at && this.frame) this.onMove?.(token, this.frame.dim === 2 ? [at.x, at.y] : [at.x, at.y, at.z]);
      }
      token = -1;
      last = null;
    };
    this.canvas.addEventListener('pointerup', end);
    this.canvas.addEventListener('pointercancel', () => ((token = -1), (last = null)));
    this.canvas.addEventListener('wheel', event => {
      event.preventDefault();
      this.camera.position.z = Math.min(9, Math.max(1.6, this.camera.position.z * Math.exp(event.deltaY / 900)));
      this.draw();
    }, {passive: false});
    this.canvas.addEventListener('keydown', event => {
      const turn: Record<string, [number, number]> = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1]};
      if (!turn[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      this.turn(...turn[event.key]);
    });
  }
}
